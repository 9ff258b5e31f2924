"""Imports the fixture of a small zoo from the tests of the zoo."""

from tests.zoo.conftest import tiny_zoo

__all__ = ["tiny_zoo"]
