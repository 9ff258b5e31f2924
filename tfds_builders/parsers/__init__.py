"""One file a format. Each `parse(file, *, name)` takes an open binary file and gives a dataclass of arrays.

Whatever a file holds, a parser ends in a result that passes the dataclass's own checks or in
`tfds_builders.common.errors.FormatError`, which says where, what was found and what to do.
"""
