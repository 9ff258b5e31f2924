"""Runs the test case of TFDS for this builder on hand-made data."""

import pytest
import tensorflow_datasets as tfds

from tfds_builders.japanese_vowels_lpc import japanese_vowels_lpc_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the config `uci` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = japanese_vowels_lpc_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["uci"]
    SPLITS = {"train": 9, "test": 9}


@pytest.mark.slow
class OtherConfigs(Test):
    """Makes the same checks for another config."""

    BUILDER_CONFIG_NAMES_TO_TEST = ["ts"]
