"""Runs the test case of TFDS for this builder on hand-made data."""

import pytest
import tensorflow_datasets as tfds

from tfds_builders.ipol_gait import ipol_gait_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the config `trials` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = ipol_gait_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["trials"]
    SPLITS = {"train": 8, "validation": 1, "test": 3}


@pytest.mark.slow
class OtherConfigs(Test):
    """Makes the same checks for other configs."""

    BUILDER_CONFIG_NAMES_TO_TEST = ["left_foot", "right_foot"]
