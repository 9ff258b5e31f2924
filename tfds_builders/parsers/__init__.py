"""Parsers of recording formats, with one module per format.

The function `parse(file, *, name)` of each module reads an open binary file and returns a dataclass
with arrays. For every file, a parser either returns valid values or raises
`tfds_builders.common.errors.FormatError`. The error states the place in the file, the received
value, the expected value and what to do.
"""
