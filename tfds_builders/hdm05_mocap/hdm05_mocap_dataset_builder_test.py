"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.hdm05_mocap import hdm05_mocap_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the configs from the files in `dummy_data/`, reads them, and checks tags, names and
    splits.
    """

    DATASET_CLASS = hdm05_mocap_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = [
        "sequences",
        "spd93",
    ]  # tests/tfds_builders has tests of the other configs
    SPLITS = {"actor_bd": 2, "actor_mm": 2}
