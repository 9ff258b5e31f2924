"""Program that reads untrusted files for the server, in separate processes.

Each process reads jobs from standard input and writes responses to standard output, see `messages`.
The server kills a process that takes too long. The program runs in separate processes, because the
server can kill a process, but not a thread.
"""

import dataclasses
import os
import signal
import sys
import warnings

from keras_dml import recordings
from keras_dml._messages import spelled
from keras_dml.gallery.server import messages
from keras_dml.gallery.server.names import NAMES

MEMORY = 3 * 2**30  # largest address space in bytes; libraries reserve most of it without using it
ORPHAN_SECONDS = 30  # longest time for a file, in case the server was killed


def main() -> None:
    """Processes jobs until standard input ends."""
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prevents libraries from writing to the pipe of responses
    sys.stdin.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ignored, so that Ctrl-C ends only the server
    _limit_memory()
    messages.write_line(answers, messages.READY)
    while True:
        try:
            path, channels, options = messages.read_line(jobs)
        except EOFError:
            return
        _set_alarm(ORPHAN_SECONDS)
        kind, answer = _answer(path, channels, options)
        _set_alarm(0)
        if kind == "read":
            messages.write_pieces(answers, answer)
        else:
            messages.write_line(answers, [kind, answer])


def _answer(path, channels, options):
    """Reads a file. Returns `("read", pieces)`, or `(kind, text)` with an error's kind and text."""
    try:
        with warnings.catch_warnings(action="ignore"):
            pieces = recordings.read_pieces(path, channels, **options)
            return "read", [_spelled(piece) for piece in pieces]
    except MemoryError:
        return "value", (
            f"{path} needs more than {MEMORY >> 30} GiB of memory to be read. Send a shorter "
            "recording."
        )
    except ImportError as error:
        return "import", spelled(error, NAMES)
    except OSError as error:
        return "system", spelled(error, NAMES)
    except (TypeError, ValueError) as error:
        return "value", spelled(error, NAMES)
    except Exception as error:  # libraries raise errors of any type for damaged files
        return "value", f"{path} cannot be read ({type(error).__name__}). Convert it to csv."


def _spelled(piece):
    """Returns a copy of a piece of a recording. The notes of the copy are plain texts that use the
    argument names of the REST interface."""
    notes = tuple(spelled(note, NAMES) for note in piece.notes)
    return dataclasses.replace(piece, notes=notes)


def _limit_memory():
    try:
        import resource
    except ImportError:  # on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _set_alarm(seconds):
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


if __name__ == "__main__":
    main()
