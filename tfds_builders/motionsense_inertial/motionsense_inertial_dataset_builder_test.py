"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.motionsense_inertial import motionsense_inertial_dataset_builder


class Trials(tfds.testing.DatasetBuilderTestCase):
    """Prepares the config `trials` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = motionsense_inertial_dataset_builder.Builder
    BUILDER_CONFIG_NAMES_TO_TEST = ["trials"]
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 8, "validation": 4, "test": 4}


class Walk6(Trials):
    """Prepares the config `walk6` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    BUILDER_CONFIG_NAMES_TO_TEST = ["walk6"]
    SPLITS = {"train": 6, "validation": 3, "test": 3}
