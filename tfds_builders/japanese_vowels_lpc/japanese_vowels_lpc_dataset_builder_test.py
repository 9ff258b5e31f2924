"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.japanese_vowels_lpc import japanese_vowels_lpc_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares every config from `dummy_data/`, reads it, and checks tags, names and splits."""

    DATASET_CLASS = japanese_vowels_lpc_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 9, "test": 9}
