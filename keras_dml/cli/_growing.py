"""Reading of a recording whose file is still being written."""

import pathlib
import tempfile
import time

from keras_dml import _messages

WAIT_SECONDS = 0.2
LEAST = 2  # time steps from which a rate can be computed


def read_chunks(read, path, follow, least):
    """Yields the time steps of a file, and then the steps that are appended to it.

    Args:
        read: Function that reads a recording from a path, shape `(time, channels)`.
        path: The file.
        follow: Seconds to wait for new lines before the recording ends; None: do not wait. Only a
            csv can be followed.
        least: Time steps to wait for before the first read. The times of two steps are not enough
            to measure the rate of an uneven clock.

    Yields:
        Consecutive arrays `(time, channels)`.

    Raises:
        ValueError: If a file other than a csv is to be followed.
        FileNotFoundError: If the file does not exist, even after the wait.
    """
    path = pathlib.Path(path)
    if follow is None:
        yield read(path)
        return
    if path.suffix.lower() != ".csv":
        raise ValueError(f"{path} cannot be followed: only a csv can. Leave out --follow.")
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
    """Reads the complete lines of a csv; returns () if it has fewer than `least` time steps."""
    if not path.exists():  # the program that writes it has not started
        return ()
    text = path.read_bytes()
    text = text[: text.rfind(b"\n") + 1]
    if text.count(b"\n") <= least:  # one line has the names of the columns
        return ()
    with tempfile.TemporaryDirectory() as folder:
        finished = pathlib.Path(folder, path.name)
        finished.write_bytes(text)
        try:
            return read(finished)
        except ValueError as error:
            raise ValueError(_messages.of(error).replace(str(finished), str(path))) from None
