"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.uci_har_inertial import uci_har_inertial_dataset_builder


class Windows(tfds.testing.DatasetBuilderTestCase):
    """Prepares the config `windows` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = uci_har_inertial_dataset_builder.Builder
    BUILDER_CONFIG_NAMES_TO_TEST = ["windows"]
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 4, "test": 3}


class Joined(Windows):
    """Prepares the config `joined` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    BUILDER_CONFIG_NAMES_TO_TEST = ["joined"]
    SPLITS = {"train": 2, "test": 2}
