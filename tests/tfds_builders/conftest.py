"""Fixtures that the tests of the builders share."""

import pytest
import tensorflow_datasets as tfds


@pytest.fixture
def quiet(caplog):
    """Turns off the progress bars of TFDS and collects the warnings of the builders in `caplog`."""
    tfds.disable_progress_bar()
    caplog.set_level("WARNING", logger="tfds_builders")
