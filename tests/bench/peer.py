"""A process in a separate environment with PyTorch that runs tasks for comparison."""

import contextlib
import json
import subprocess
from pathlib import Path

SERVER = Path(__file__).with_name("torch_peer.py")


@contextlib.contextmanager
def peer(python, task, cpu_time=False, steps=1, **sizes):
    """A task of `torch_peer.py`, ready to be run.

    Args:
        python: Interpreter that has PyTorch; None for no yardstick.
        task: Name of a task of `torch_peer.py`.
        cpu_time: Whether to measure processor time of one thread instead of elapsed time.
        steps: Consecutive runs of a call.
        **sizes: Its arguments.

    Yields:
        A function that runs the task and returns the mean seconds of a run, and a dict of what the
        peer says about itself; `(None, {})` without an interpreter.
    """
    if python is None:
        yield None, {}
        return
    command = [python, str(SERVER), task, json.dumps(sizes), "cpu" if cpu_time else "wall"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:

        def ask():
            server.stdin.write(f"{steps}\n")
            server.stdin.flush()
            return float(_answer(server))

        try:
            yield ask, json.loads(_answer(server))
        finally:
            server.stdin.close()


def _answer(server):
    line = server.stdout.readline()
    if not line:
        raise RuntimeError(f"The process of {server.args[0]!r} ended; its message is above.")
    return line
