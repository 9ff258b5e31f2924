"""Reads a recording's file while another program is still writing the file."""

import pathlib
import tempfile
import time

from keras_dml import _messages

WAIT_SECONDS = 0.2
LEAST = 2  # smallest number of time steps from which a rate can be computed


def read_chunks(read, path, follow, least):
    """Yields the time steps of a file, and then the steps that are appended to the file.

    Args:
        read: Function that takes a path and returns a recording of shape `(time, channels)`.
        path: The file.
        follow: Number of seconds without new lines after which the recording ends. If None, the
            file is read only once, and new lines are ignored. Only csv files can be followed.
        least: Number of time steps to wait for before the first read. Two steps are not enough to
            measure the rate of a clock with uneven steps.

    Yields:
        Consecutive arrays `(time, channels)`.

    Raises:
        ValueError: If `follow` is given for a file that is not a csv.
        FileNotFoundError: If the file still does not exist after `follow` seconds.
    """
    path = pathlib.Path(path)
    if follow is None:
        yield read(path)
        return
    if path.suffix.lower() != ".csv":
        raise ValueError(
            f"{path} cannot be followed, because only csv files can be followed. Leave out "
            "--follow."
        )
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
        raise FileNotFoundError(
            f"The file {str(path)!r} does not exist after {follow:g} seconds. Check its path."
        )


def _whole_lines(read, path, least):
    """Reads the complete lines of a csv. Returns () if there are fewer than `least` steps."""
    if not path.exists():  # the program that writes the file has not started yet
        return ()
    text = path.read_bytes()
    text = text[: text.rfind(b"\n") + 1]
    if text.count(b"\n") <= least:  # the first line contains the names of the columns
        return ()
    with tempfile.TemporaryDirectory() as folder:
        finished = pathlib.Path(folder, path.name)
        finished.write_bytes(text)
        try:
            return read(finished)
        except ValueError as error:
            raise ValueError(_messages.text_of(error).replace(str(finished), str(path))) from None
