"""How far the memory of this process grows in one call (Linux)."""

from pathlib import Path


def growth_megabytes(function):
    """Growth of this process's greatest resident size while `function` runs, and its result.

    What the process held and freed before is handed out again without growth, so use it in a
    process that has done little else, after a small call that loads the code.
    """
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
    before = _resident("VmRSS")
    result = function()
    return (_resident("VmHWM") - before) / 1024, result


def _resident(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])
