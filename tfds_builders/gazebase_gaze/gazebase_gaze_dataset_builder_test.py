"""Runs the test case of TFDS for this builder on hand-made data."""

import pytest
import tensorflow_datasets as tfds

from tfds_builders.gazebase_gaze import gazebase_gaze_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the config `tex1000` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = gazebase_gaze_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["tex1000"]
    SPLITS = {"train": 8, "validation": 2, "test": 4}


@pytest.mark.slow
class OtherConfigs(Test):
    """Makes the same checks for other configs."""

    BUILDER_CONFIG_NAMES_TO_TEST = ["tex100", "hss100"]
