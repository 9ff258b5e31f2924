"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.ltmm_gait import ltmm_gait_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the configs with recordings of three days from the files in `dummy_data/`, reads
    them, and checks tags, names and splits.
    """

    DATASET_CLASS = ltmm_gait_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["active30", "active30_raw", "minutes"]
    SPLITS = {"train": 4, "validation": 2, "test": 4}
