"""Files that appear whole or not at all."""

import contextlib
import pathlib
import tempfile


@contextlib.contextmanager
def staged(path):
    """A place beside `path` to write to; what is there when the block ends well takes the place of
    `path`.

    After an error nothing is left of it, and what `path` held is untouched.

    Args:
        path: A file, or a folder.

    Yields:
        A path that does not exist yet, in a temporary folder on the same file system.

    Raises:
        FileNotFoundError: If the folder that `path` lies in does not exist.
    """
    path = pathlib.Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(path.parent)!r} to write {path.name!r} into; make it first."
        )
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as room:
        candidate = pathlib.Path(room) / path.name
        yield candidate
        if path.is_dir():
            path.rename(pathlib.Path(room) / "replaced")
        candidate.replace(path)


def size(path):
    """Bytes of a file, or of all files under a folder."""
    path = pathlib.Path(path)
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)
