"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.voxceleb_verification import voxceleb_verification_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares a config from `dummy_data/`, reads it, and checks tags, names and splits."""

    DATASET_CLASS = voxceleb_verification_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["vox1"]  # tests/tfds_builders has tests of the other configs
    SPLITS = {"train": 9, "validation": 3, "test": 6}
