"""A small zoo, as the tests of the zoo have it."""

from tests.zoo.conftest import tiny_zoo

__all__ = ["tiny_zoo"]
