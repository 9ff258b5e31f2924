"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.gaitauth_walks import gaitauth_walks_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares both configs from the files in `dummy_data/`, reads them, and checks tags, names and
    splits.
    """

    DATASET_CLASS = gaitauth_walks_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 6, "validation": 2, "test": 2}
