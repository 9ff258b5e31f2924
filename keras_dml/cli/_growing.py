"""A recording in a file that may still grow."""

import pathlib
import tempfile
import time

WAIT_SECONDS = 0.2
LEAST = 2  # steps that make a rate


def chunks(read, path, follow, least):
    """The steps of a file, and of one that is followed those that come later.

    Args:
        read: Function of a path that gives the recording there, shape `(time, channels)`.
        path: The file.
        follow: Seconds to wait for further steps before it ends; None: not to wait. Only a csv can
            be followed: it is read line by line.
        least: Steps of a file that is followed before it is read: a clock that jitters tells no
            rate by two.

    Yields:
        Arrays `(time, channels)`, one behind the other.

    Raises:
        ValueError: If a file of another kind is to be followed.
        FileNotFoundError: If there is no file, or none has come while it was waited for.
    """
    path = pathlib.Path(path)
    if follow is None:
        yield read(path)
        return
    if path.suffix.lower() != ".csv":
        raise ValueError(f"{path} cannot be followed: only a csv is read while it grows.")
    seen, changed = 0, time.monotonic()
    while True:
        is_last = time.monotonic() - changed >= follow
        steps = _whole_lines(read, path, max(least, LEAST))
        if len(steps) > seen:
            yield steps[seen:]
            seen, changed = len(steps), time.monotonic()
        elif is_last:
            break
        time.sleep(min(WAIT_SECONDS, follow))
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}, after {follow:g} seconds.")


def _whole_lines(read, path, least):
    """What stands in the lines of a csv that are finished, as many as have come; () before there
    are so many steps."""
    if not path.exists():  # what writes it begins later
        return ()
    text = path.read_bytes()
    text = text[: text.rfind(b"\n") + 1]
    if text.count(b"\n") <= least:  # and the line of names
        return ()
    with tempfile.TemporaryDirectory() as folder:
        finished = pathlib.Path(folder, path.name)
        finished.write_bytes(text)
        try:
            return read(finished)
        except ValueError as error:
            raise ValueError(str(error).replace(str(finished), str(path))) from None
