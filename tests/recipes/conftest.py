"""A small zoo, as the tests of the zoo have it, and a process for tests that need much memory."""

import concurrent.futures
import multiprocessing

import pytest

from tests.zoo.conftest import tiny_zoo

__all__ = ["tiny_zoo"]


@pytest.fixture(scope="module")
def apart():
    """A process that ends, and gives back what all models and recordings took."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool
