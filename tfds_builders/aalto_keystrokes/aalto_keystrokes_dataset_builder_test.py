"""Runs the test case of TFDS for this builder on hand-made data."""

import pytest
import tensorflow_datasets as tfds

from tfds_builders.aalto_keystrokes import aalto_keystrokes_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the config `sentences` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = aalto_keystrokes_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["sentences"]
    SPLITS = {"train": 24, "validation": 4, "test": 12}


@pytest.mark.slow
class OtherConfigs(Test):
    """Makes the same checks for another config."""

    BUILDER_CONFIG_NAMES_TO_TEST = ["new_sentences"]
    SPLITS = {"train": 14, "validation": 2, "test": 6}
