"""Repeats the comparison of losses for an SPD network in Kim2020, Table I and Figures 2 to 5."""

from zoo.papers.potato.run import run
from zoo.papers.potato.settings import SCALES, Settings

__all__ = ["SCALES", "Settings", "run"]
