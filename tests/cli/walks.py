"""A gait archive of made-up walks, in the layout of the public one."""

import numpy as np

from tests.tfds_builders.samples import gait_json
from tfds_builders.parsers import gait

SAMPLES = 1300
MARGIN = 100  # standing at both ends


def write_archive(folder, people, trials, samples=SAMPLES):
    """Walks of people who swing their feet at a rate and with an amplitude of their own."""
    place = folder / "GaitData"
    place.mkdir(parents=True, exist_ok=True)
    seconds = np.arange(samples)[:, None] / gait.RATE_HZ
    for person in people:
        for trial in trials:
            rng = np.random.default_rng([person, trial])
            phase = 2 * np.pi * (0.8 + 0.05 * person) * seconds + np.arange(16)
            table = (1 + 0.2 * person) * np.sin(phase) + 0.1 * rng.normal(size=(samples, 16))
            rows = "\n".join(",".join(f"{value:.6e}" for value in row) for row in table)
            steps = [[MARGIN, MARGIN + 60], [samples - MARGIN - 60, samples - MARGIN]]
            notes = gait_json(person, trial, LeftFootActivity=steps, RightFootActivity=steps)
            (place / f"{person}-{trial}.csv").write_text(f"{','.join(gait.CHANNELS)}\n{rows}\n")
            (place / f"{person}-{trial}.json").write_bytes(notes)
