"""Repeats the experiments of three papers on public data.

The command is `python -m zoo.papers wasserstein|prototypes|potato`. Each paper has a package that
contains the dataclass `Settings`, the named settings `SCALES`, and the function `run`, which the
command calls.
"""
