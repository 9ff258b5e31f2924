"""Runs the tests of the numerical part of the library on JAX, in float64 if a test requires
float64.

The run on JAX takes minutes on one core. `conftest.py` starts this run first, so that another test
process works in the meantime.
"""

import os
import pathlib
import subprocess
import sys

import keras
import pytest

from tests import xla

ROOT = pathlib.Path(__file__).parent.parent
SELECTION = (
    "tests/geometry",
    "tests/test_distances.py",
    "tests/layers",
    "tests/losses",
    "tests/models",
    "tests/samplers/test_fit.py",
    "tests/test_inference.py",
    "tests/test_contracts.py",
    # each command only once
    "tests/cli/test_main.py",
    "tests/cli/test_demo.py::test_counts_agree_with_the_decisions",
    "tests/cli/test_export.py::test_the_error_on_another_backend_says_how_to_export",
    "tests/papers/test_prototypes_command.py::test_the_command_prints_the_tables_and_writes_all_files",
    "tests/papers/test_potato_command.py::test_the_command_prints_the_table_and_writes_all_files",
)


def run(markers):
    """Runs the tests on JAX. JAX computes in float32 unless float64 is enabled before its import.

    Args:
        markers: Marker expression that selects the tests.
    """
    options = ["-q", "-n=0", f"-m={markers}", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *SELECTION],
        cwd=ROOT,
        env={
            **os.environ,
            "KERAS_BACKEND": "jax",
            "JAX_ENABLE_X64": "1",
            "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
            "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",
            "JAX_CPU_ENABLE_ASYNC_DISPATCH": "0",
            "XLA_FLAGS": xla.swift(),
        },
        capture_output=True,
        text=True,
    )


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="this is the run on JAX")
def test_everything_on_keras_ops_passes_on_jax(pytestconfig, record_property):
    done = run(pytestconfig.getoption("markexpr"))
    lines = done.stdout.splitlines()
    for line in lines[-1:] + [line for line in lines if line.startswith("most memory")]:
        record_property("on JAX", line)
    assert done.returncode == 0, done.stdout + done.stderr
