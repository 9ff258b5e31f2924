"""What the builders' tests share."""

import pytest
import tensorflow_datasets as tfds


@pytest.fixture
def quiet(caplog):
    """No bars of TFDS; the builders' notices go to `caplog`."""
    tfds.disable_progress_bar()
    caplog.set_level("WARNING", logger="tfds_builders")
