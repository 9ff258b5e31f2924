"""Runs the test case of TFDS for this builder on hand-made data."""

import pytest
import tensorflow_datasets as tfds

from tfds_builders.hdm05_mocap import hdm05_mocap_dataset_builder


class Test(tfds.testing.DatasetBuilderTestCase):
    """Prepares the config `spd93` from `dummy_data/`, reads it, and checks tags, names and
    splits.
    """

    DATASET_CLASS = hdm05_mocap_dataset_builder.Builder
    SKIP_TF1_GRAPH_MODE = True
    # tests/tfds_builders has tests of `spd_eth` and `spd_brooks117`
    BUILDER_CONFIG_NAMES_TO_TEST = ["spd93"]
    SPLITS = {"actor_bd": 2, "actor_mm": 2}


@pytest.mark.slow
class OtherConfigs(Test):
    """Makes the same checks for another config."""

    BUILDER_CONFIG_NAMES_TO_TEST = ["sequences"]
