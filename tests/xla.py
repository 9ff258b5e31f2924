"""Compiler flags that speed up compilation on JAX. Most of the time of the tests is spent on
compiling programs that run once."""

import os
import subprocess
import sys

SWIFT = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"


def swift():
    """Returns the flags that speed up compilation, or no flags if this version of XLA does not
    support these flags. An unknown flag would end the process."""
    trial = [sys.executable, "-c", "import jax; jax.devices()"]
    environment = {**os.environ, "XLA_FLAGS": SWIFT, "JAX_PLATFORMS": "cpu"}
    result = subprocess.run(trial, env=environment, capture_output=True, check=False)
    return "" if result.returncode else SWIFT
