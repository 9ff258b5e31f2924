"""Processor time of P1's whole protocol on the distances of 2,000 recordings of 100 people.

python -m tests.bench.protocol
"""

import time

import numpy as np

from keras_dml.evaluation.protocol import paper_protocol
from tests.bench import timing
from tests.evaluation.test_protocol import recordings

BOUND_SECONDS = 2.0


def main():
    repeats = timing.parser(__doc__.splitlines()[0], 5).parse_args().repeats
    distances, subjects, _ = recordings(people=100, each=20)
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        paper_protocol(distances, subjects)
        seconds.append(time.process_time() - start)
    median = np.median(seconds)
    print(f"protocol, {len(subjects):,} recordings: median {median:.2f} s, ", end="")
    print(f"least {min(seconds):.2f} s; bound {BOUND_SECONDS:g} s: ", end="")
    print(timing.verdict(median, BOUND_SECONDS))


if __name__ == "__main__":
    main()
