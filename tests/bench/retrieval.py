"""Measures the time and the memory that retrieval figures of many queries need.

python -m tests.bench.retrieval
"""

import argparse
import os
import time

import numpy as np

from tests.bench import smoke, timing
from tests.bench.memory import growth_megabytes

QUERIES, FEATURES, CLASSES = 100_000, 128, 1000
SMOKE = {"queries": 600, "features": 4, "classes": 9}
MEMORY_BOUND_MB = 500  # embeddings in float64 take 102 MB, and all distances would take 80 GB


def embeddings(queries, features, classes):
    """Draws float32 vectors from overlapping classes, and their labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, queries)
    centers = rng.normal(size=(classes, features)).astype(np.float32)
    return 0.5 * centers[labels] + rng.normal(size=(queries, features)).astype("f4"), labels


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--queries", type=int, default=QUERIES)
    options.add_argument("--features", type=int, default=FEATURES)
    options.add_argument("--classes", type=int, default=CLASSES)
    options.add_argument("--distance", default="euclidean", help="euclidean or cosine")
    arguments = smoke.parse(options, globals(), SMOKE)
    from keras_dml.evaluation import retrieval

    vectors, labels = embeddings(arguments.queries, arguments.features, arguments.classes)
    retrieval(vectors[:500], labels[:500] % 9)  # loads code and starts threads
    begin = [time.perf_counter(), time.process_time()]
    peak, result = growth_megabytes(lambda: retrieval(vectors, labels, distance=arguments.distance))
    seconds, cpu = time.perf_counter() - begin[0], time.process_time() - begin[1]
    print(f"Retrieval {vars(arguments)}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(result)
    print(
        f"{seconds:.0f} s, {cpu:.0f} s of processor time, "
        f"{arguments.queries / seconds:,.0f} queries/s"
    )
    print(f"peak extra memory {peak:.0f} MB; bound {MEMORY_BOUND_MB} MB: ", end="")
    print(timing.verdict(peak, MEMORY_BOUND_MB))


if __name__ == "__main__":
    main()
