"""Compiles a written C library, and runs its self-test."""

import pathlib
import shutil
import subprocess
import tempfile

from keras_dml._messages import Message
from keras_dml.export import parity

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-std=c99", "-O2")
SECONDS = 120  # longest time of a compilation or a self-test


def find() -> str | None:
    """Returns the path of a C compiler, or None if no compiler is installed."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def check(folder: pathlib.Path, compiler: str) -> float:
    """Compiles the library in a folder and runs its self-test.

    Args:
        folder: Folder with the C files.
        compiler: Path of the compiler.

    Returns:
        Largest difference between an embedding of the library and the golden embedding: RMS
        difference, divided by the RMS of the golden embedding.

    Raises:
        RuntimeError: If the compiler fails, or if it or the self-test takes too long.
        ParityError: If the self-test fails.
    """
    with tempfile.TemporaryDirectory() as build:
        program = pathlib.Path(build, "selftest")
        sources = sorted(map(str, folder.glob("*.c")))
        compilation = _run([compiler, *FLAGS, "-o", str(program), *sources, "-lm"])
        if compilation.returncode != 0:
            raise RuntimeError(
                f"{compiler} does not compile the library: {compilation.stderr.strip()[:500]}"
            )
        test = _run([str(program)])
    if test.returncode != 0:
        lines = dict.fromkeys(test.stdout.strip().splitlines())
        reason = "; ".join(lines) or f"selftest ended with {test.returncode}"
        raise parity.ParityError(
            f"The C library does not agree with its golden values: {reason}. Nothing was written."
        )
    return float(test.stdout.split()[1])  # the first line is "difference NUMBER"


def _run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise RuntimeError(
            Message(
                "{program} took longer than {seconds} seconds, so nothing was written. The golden "
                "recordings are as long as {steps}. Set a smaller {steps}.",
                program=command[0],
                seconds=SECONDS,
            )
        ) from None
