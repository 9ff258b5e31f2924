"""Runs the test case of TFDS for this builder on hand-made data."""

import tensorflow_datasets as tfds

from tfds_builders.sp_sw_har import sp_sw_har_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares both configs from `dummy_data/`, reads them, and checks tags, names and splits."""

    DATASET_CLASS = sp_sw_har_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    SPLITS = {"train": 12, "validation": 4, "test": 4}
