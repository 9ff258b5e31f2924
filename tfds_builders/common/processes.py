"""Function that reads recordings in several processes. The examples and their order are the same as
with one process.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from tfds_builders.common.repeats import Contents, Repeats

T = TypeVar("T")


def in_processes(
    recordings: Sequence[T],
    read: Callable[[T, Contents], Iterator[tuple[str, dict[str, Any]]]],
    repeats: Repeats | None,
    jobs: int,
    progress: Callable[[range], Iterator[int]],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the examples of all recordings. Several processes read the recordings.

    Process i reads the recordings i, i + jobs, … and sends one example at a time. If the pipe to
    the main process is full, the process waits. The required memory therefore does not grow with
    the number or the length of the recordings.

    Args:
        recordings: The recordings.
        read: Function that makes the examples of a recording. Each process receives the function by
            pickle.
        repeats: Object that compares the contents of all recordings, or None for no comparison.
        jobs: Number of processes.
        progress: Function that yields the indices of the recordings and reports progress.

    Raises:
        ArchiveError, FormatError: If `read` raises one of these errors for a recording.
        OSError: If a process ended before it had read all of its recordings.
    """
    jobs = min(jobs, len(recordings))
    # TensorFlow and Arrow may deadlock in a forked process
    context = multiprocessing.get_context("spawn")
    pipes, workers = [], []
    try:
        for first in range(jobs):
            receiver, sender = context.Pipe(duplex=False)
            work = _pickled((read, recordings[first::jobs]))
            worker = context.Process(target=_work, args=(sender, work), daemon=True)
            worker.start()
            sender.close()
            pipes.append(receiver)
            workers.append(worker)
        for number in progress(range(len(recordings))):
            examples, contents = _received(pipes[number % jobs], workers[number % jobs]), []
            for example in examples:
                if isinstance(example, Contents):
                    contents = example.added
                else:
                    yield example
            if repeats is not None:
                for content in contents:
                    repeats.add_digest(*content)
        if repeats is not None:
            repeats.report()
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _pickled(work: tuple) -> bytes:
    try:
        return pickle.dumps(work)
    except TypeError as error:  # raised for an archive within an archive
        raise ValueError(f"{error} Alternatively, leave --jobs out.") from None


def _received(pipe: Connection, worker) -> Iterator[tuple | Contents]:
    """Yields the examples of one recording, then the `Contents` object of this recording."""
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            worker.join()
            raise OSError(
                f"A process that reads recordings ended with exit code {worker.exitcode}, perhaps "
                "because the memory was full. Give a smaller number to --jobs."
            ) from None
        if isinstance(message, Exception):
            raise message
        yield message
        if isinstance(message, Contents):
            return


def _work(pipe: Connection, work: bytes) -> None:
    """Reads recordings and sends their examples. If an error occurs, sends the error and stops."""
    # Ctrl-C reaches all processes. This process ignores Ctrl-C, because the parent process ends
    # this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        read, recordings = pickle.loads(work)
        for recording in recordings:
            contents = Contents()
            for example in read(recording, contents):
                pipe.send(example)
            pipe.send(contents)
    except BrokenPipeError:  # the parent process has ended
        return
    except Exception as error:
        pipe.send(error)
