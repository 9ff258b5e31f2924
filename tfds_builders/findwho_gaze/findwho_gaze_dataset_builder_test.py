"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.findwho_gaze import findwho_gaze_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the data set from `dummy_data/`, reads it, and checks tags, names and splits."""

    DATASET_CLASS = findwho_gaze_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 9, "validation": 1, "test": 4}
