"""JSON files that are whole or not there."""

import json

from keras_dml import _files


def write(path, content):
    """Writes a file whole or not at all.

    Args:
        path: A `pathlib.Path`.
        content: What JSON holds.

    Returns:
        The path.
    """
    _files.write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path
