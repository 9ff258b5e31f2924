"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.mini_imagenet_ravi import mini_imagenet_ravi_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the data set from the images in `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = mini_imagenet_ravi_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["images"]
    SPLITS = {"train": 6, "validation": 4, "test": 4}
