"""The numerical part of the library on its second backend, in float64 where a test asks for it."""

import os
import pathlib
import subprocess
import sys

import keras
import pytest

ROOT = pathlib.Path(__file__).parent.parent
SELECTION = (
    "tests/geometry",
    "tests/test_distances.py",
    "tests/distances",
    "tests/layers",
    "tests/losses",
    "tests/models",
    "tests/test_contracts.py",
)


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() == "jax", reason="this is the run on JAX")
def test_everything_on_keras_ops_passes_on_jax(capsys):
    """JAX computes in float32 unless it is told otherwise before it is imported."""
    selected = [path for path in SELECTION if (ROOT / path).exists()]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *selected],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_ENABLE_X64": "1"},
        capture_output=True,
        text=True,
    )
    with capsys.disabled():
        print(f"\non JAX: {done.stdout.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
