"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.pacs_images import pacs_images_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares one config from the files in `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = pacs_images_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = [
        "art_painting"
    ]  # tests/tfds_builders has tests of the other configs
    SPLITS = {"train": 16, "validation": 5, "test": 7}
