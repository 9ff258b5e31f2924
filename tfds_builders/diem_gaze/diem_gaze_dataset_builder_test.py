"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.diem_gaze import diem_gaze_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the config `protocol` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = diem_gaze_dataset_builder.Builder
    BUILDER_CONFIG_NAMES_TO_TEST = ["protocol"]  # `all` has another split
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 4, "validation": 1, "test": 5}
