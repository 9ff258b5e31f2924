"""Measures how much the memory of this process grows in one call (Linux)."""

from pathlib import Path


def growth_megabytes(function):
    """Measures the growth of the maximum resident size in a call. Also returns the result.

    A process uses freed memory again without growth. Therefore call this function in a fresh
    process, after a small call that loads the code.
    """
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
    before = _resident("VmRSS")
    result = function()
    return (_resident("VmHWM") - before) / 1024, result


def _resident(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])
