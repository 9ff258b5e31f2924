"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.gazecom_gaze import gazecom_gaze_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares both configs from `dummy_data/`, reads them, and checks tags, names and splits."""

    DATASET_CLASS = gazecom_gaze_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 8, "validation": 2, "test": 4}
