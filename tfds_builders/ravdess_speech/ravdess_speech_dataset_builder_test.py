"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.ravdess_speech import ravdess_speech_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares both configs from `dummy_data/`, reads them, and checks tags, names and splits."""

    DATASET_CLASS = ravdess_speech_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 4, "validation": 4, "test": 4}
