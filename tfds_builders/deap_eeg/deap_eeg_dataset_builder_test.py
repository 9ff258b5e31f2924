"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.deap_eeg import deap_eeg_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares all configs from `dummy_data/`, reads them, and checks tags, names and splits."""

    DATASET_CLASS = deap_eeg_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 6, "validation": 2, "test": 2}
