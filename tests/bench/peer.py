"""Runs tasks for comparison in a process of another environment that has PyTorch."""

import contextlib
import json
import subprocess
from pathlib import Path

SERVER = Path(__file__).with_name("torch_peer.py")


@contextlib.contextmanager
def peer(python, task, cpu_time=False, steps=1, **sizes):
    """Starts a process for a task of `torch_peer.py`.

    Args:
        python: Interpreter that has PyTorch. If None, there is no comparison.
        task: Name of a task of `torch_peer.py`.
        cpu_time: Whether to measure processor time of one thread instead of elapsed time.
        steps: Number of consecutive runs per call.
        **sizes: Arguments of the task.

    Yields:
        A function that runs the task and returns the mean seconds per run, and a dict of facts
        about the libraries. If `python` is None, the context yields `(None, {})`.
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
