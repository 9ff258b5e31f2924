"""Runs the test case of TFDS for this builder on hand-made data."""

import pytest
import tensorflow_datasets as tfds

from tfds_builders.sp_sw_har import sp_sw_har_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the config `uniform50` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = sp_sw_har_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["uniform50"]
    SPLITS = {"train": 12, "validation": 4, "test": 4}


@pytest.mark.slow
class OtherConfigs(Test):
    """Makes the same checks for another config."""

    BUILDER_CONFIG_NAMES_TO_TEST = ["runs"]
