"""Flags with which JAX compiles swiftly: most of the time goes into compiling what runs once."""

import os
import subprocess
import sys

SWIFT = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"


def swift():
    """These flags; none where this version of XLA does not know them: it ends the process."""
    trial = [sys.executable, "-c", "import jax; jax.devices()"]
    environment = {**os.environ, "XLA_FLAGS": SWIFT, "JAX_PLATFORMS": "cpu"}
    result = subprocess.run(trial, env=environment, capture_output=True, check=False)
    return "" if result.returncode else SWIFT
