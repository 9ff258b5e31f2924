"""JSON files that are whole or not there."""

import json
import os


def write(path, content):
    """Writes a file beside its place and renames it.

    Args:
        path: A `pathlib.Path`.
        content: What JSON holds.

    Returns:
        The path.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)
    return path
