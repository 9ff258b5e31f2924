"""One file a format: `parse(file, *, name)` takes an open binary file, gives arrays in a dataclass.

Whatever a file holds, a parser ends in a result that passes the dataclass's own checks or in
`tfds_builders.common.errors.FormatError`, which says where, what was found and what to do.
"""
