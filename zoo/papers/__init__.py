"""Experiments of three papers on public data: `python -m zoo.papers wasserstein|prototypes|potato`.

Each paper has a package with the dataclass `Settings`, the named settings `SCALES`, and `run`, the
Python function behind the command.
"""
