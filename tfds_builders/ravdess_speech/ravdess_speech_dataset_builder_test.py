"""Runs the test case of TFDS for this builder on hand-made data."""

import pytest
import tensorflow_datasets as tfds

from tfds_builders.ravdess_speech import ravdess_speech_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the config `speech16k` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = ravdess_speech_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    BUILDER_CONFIG_NAMES_TO_TEST = ["speech16k"]
    SPLITS = {"train": 4, "validation": 4, "test": 4}


@pytest.mark.slow
class OtherConfigs(Test):
    """Makes the same checks for another config."""

    BUILDER_CONFIG_NAMES_TO_TEST = ["speech"]
