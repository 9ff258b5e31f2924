"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.gazebase_gaze import gazebase_gaze_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares three configs from `dummy_data/`, reads them, and checks tags, names and splits."""

    DATASET_CLASS = gazebase_gaze_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["tex1000", "tex100", "hss100"]
    SPLITS = {"train": 8, "validation": 2, "test": 4}
