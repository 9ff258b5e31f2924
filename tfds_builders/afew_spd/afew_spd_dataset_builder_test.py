"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.afew_spd import afew_spd_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the data set from the matrices in `dummy_data/`, reads it, and checks tags, names
    and splits.
    """

    DATASET_CLASS = afew_spd_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 8, "validation": 3}
