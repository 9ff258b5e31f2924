"""Experiments of three papers on public data: `python -m zoo.papers wasserstein|prototypes|potato`.

Each paper has a package with `Settings`, the named settings `SCALES`, and `run`, which does what
the command does.
"""
