"""Measures the time of `import keras_dml` in a fresh interpreter that has already started.

python -m tests.bench.import_time
"""

import subprocess
import sys

import numpy as np

from tests.bench import smoke, timing

BOUND_SECONDS = 0.3
SMOKE = {"repeats": 1}
HEAVY = ("tensorflow", "jax", "keras")
PROGRAM = f"""
import sys, time
start = time.perf_counter()
import keras_dml
print(time.perf_counter() - start, *(name for name in {HEAVY!r} if name in sys.modules))
"""


def measure():
    """Measures one import in a new process and lists the heavy packages that it loads."""
    seconds, *loaded = subprocess.check_output([sys.executable, "-c", PROGRAM], text=True).split()
    return float(seconds), loaded


def main():
    options = timing.parser(__doc__.splitlines()[0], 9)
    repeats = smoke.parse(options, globals(), SMOKE).repeats
    seconds, loaded = zip(*(measure() for _ in range(repeats)), strict=True)
    median = np.median(seconds)
    print(f"import keras_dml, {repeats} fresh processes: median {1e3 * median:.1f} ms, ", end="")
    print(f"greatest {1e3 * max(seconds):.1f} ms; bound {1e3 * BOUND_SECONDS:.0f} ms: ", end="")
    print(timing.verdict(median, BOUND_SECONDS))
    print(f"heavy packages loaded: {', '.join(sorted(set(sum(loaded, [])))) or 'none'}")


if __name__ == "__main__":
    main()
