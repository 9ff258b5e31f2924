"""The numerical part of the library on its second backend, in float64 where a test asks for it.

The run on JAX takes minutes on one core. `conftest.py` starts it beside the tests on TensorFlow and
puts this test, which waits for it, at the end.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import keras
import pytest

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
)
# Most of the time goes into compiling what runs once; without these it takes twice as long.
SWIFT = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"


def start():
    """The run on JAX, which computes in float32 unless it is told otherwise before it is imported.

    Returns:
        The process and the open file of what it prints.
    """
    printed = tempfile.TemporaryFile("w+")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SELECTION],
        cwd=ROOT,
        env={
            **os.environ,
            "KERAS_BACKEND": "jax",
            "JAX_ENABLE_X64": "1",
            "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
            "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {SWIFT if known(SWIFT) else ''}",
        },
        stdout=printed,
        stderr=subprocess.STDOUT,
    )
    return process, printed


def known(flags):
    """Whether this version of XLA has them: it ends the process over one that it does not know."""
    trial = [sys.executable, "-c", "import jax; jax.devices()"]
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    return not subprocess.run(trial, env=environment, capture_output=True, check=False).returncode


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() == "jax", reason="this is the run on JAX")
def test_everything_on_keras_ops_passes_on_jax(run_on_jax, capsys):
    process, printed = run_on_jax
    process.wait()
    printed.seek(0)
    text = printed.read()
    with capsys.disabled():
        print(f"\non JAX: {text.splitlines()[-1]}")
    assert process.returncode == 0, text
