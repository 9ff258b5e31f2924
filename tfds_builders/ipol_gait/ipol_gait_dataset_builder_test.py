"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.ipol_gait import ipol_gait_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares every config from the files in `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = ipol_gait_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 8, "validation": 1, "test": 3}
