"""Repeats the comparison of losses for sequences in Abdelwahab2019, Table 1 and Figures 2 to 8."""

from zoo.papers.wasserstein.run import run
from zoo.papers.wasserstein.settings import DOMAINS, SCALES, Settings

__all__ = ["DOMAINS", "SCALES", "Settings", "run"]
