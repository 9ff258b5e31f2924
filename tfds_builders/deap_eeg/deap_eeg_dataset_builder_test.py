"""Runs the test case of TFDS for this builder on hand-made data."""

import pytest
import tensorflow_datasets as tfds

from tfds_builders.deap_eeg import deap_eeg_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares configs `raw` and `cov32` from `dummy_data/`, reads them, and checks tags, names and
    splits.
    """

    DATASET_CLASS = deap_eeg_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["raw", "cov32"]
    SPLITS = {"train": 6, "validation": 2, "test": 2}


@pytest.mark.slow
class OtherConfigs(Test):
    """Makes the same checks for other configs."""

    BUILDER_CONFIG_NAMES_TO_TEST = [
        "cov32_valence2",
        "cov32_valence3",
        "cov32_valence4",
        "cov32_valence9",
    ]
