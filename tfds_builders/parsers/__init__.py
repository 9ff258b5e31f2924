"""Parsers of recording formats, with one module per format.

`parse(file, *, name)` takes an open binary file and returns a dataclass with arrays. For any
content of the file, a parser either returns a dataclass that passes its own checks or raises
`tfds_builders.common.errors.FormatError`. The error states the place in the file, the received
value, the expected value and what to do.
"""
