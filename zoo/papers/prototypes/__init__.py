"""Attacks classifiers on MNIST, as in Table 1 of Monteiro2020."""

from zoo.papers.prototypes.run import run
from zoo.papers.prototypes.settings import SCALES, Settings

__all__ = ["SCALES", "Settings", "run"]
