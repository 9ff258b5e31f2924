"""Reading of recordings by several processes. The examples and their order are those of one
process.
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
    """Yields the examples of recordings that several processes read.

    Process i reads the recordings i, i + jobs, … and sends one example at a time. The process waits
    while the pipe is full, so memory does not grow with the number or the length of the recordings.

    Args:
        recordings: The recordings.
        read: Function that makes the examples of a recording; each process gets it by pickle.
        repeats: Contents of all recordings, or None if recordings are not compared.
        jobs: Number of processes.
        progress: Function that yields the indices of the recordings and reports progress.

    Raises:
        ArchiveError, FormatError: If `read` raises it for a recording.
        OSError: If a process ended before its work was done.
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
    """Yields the examples of one recording, then the contents that the process added."""
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            worker.join()
            raise OSError(
                f"A process that reads recordings ended with exit code {worker.exitcode}, perhaps "
                "for lack of memory. Use fewer --jobs."
            ) from None
        if isinstance(message, Exception):
            raise message
        yield message
        if isinstance(message, Contents):
            return


def _work(pipe: Connection, work: bytes) -> None:
    """Reads recordings and sends their examples. Sends the first error and stops."""
    # Ctrl-C reaches all processes, and the parent process ends this one
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
