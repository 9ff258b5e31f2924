"""Compares the scores of `keras_dml.edge` with the scores of Keras on real recordings.

The table has one row per model. The scores are the distances between all pairs of recordings. A
decision flips if only one of the two scores is at or below a threshold of the card. Run `python -m
zoo.edge_agreement gait_lda` from the checkout, after `python -m zoo.edge_files gait_lda`.
"""

import dataclasses

import numpy as np
import typer

import keras_dml
from export import quality
from keras_dml import edge, zoo
from zoo import edge_files

MOST = 220  # recordings of a model


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Comparison of the scores of a file with the scores of Keras.

    Attributes:
        recordings: Number of recordings.
        pairs: Number of pairs of recordings.
        stddev: Standard deviation of the scores of Keras.
        largest: Largest difference between two scores of a pair.
        flips: For each threshold of the card, the number of decisions that flip.
    """

    recordings: int
    pairs: int
    stddev: float
    largest: float
    flips: dict[float, int]


def measure(model: edge.Model, name: str, signals: list[np.ndarray]) -> Agreement:
    """Compares the scores of a file with the scores of a Keras model.

    Args:
        model: Model of the file.
        name: Name of the model in the zoo.
        signals: Recordings, shape `(time, channels)`.
    """
    reference = zoo.load(name)
    z, y = model.embed(signals), keras_dml.embed(reference, signals, progress=False)
    pairs = np.triu_indices(len(signals), 1)
    actual, expected = model.distance(z, z)[pairs], keras_dml.distance(reference, y, y)[pairs]
    thresholds = [row["value"] for row in zoo.card(name)["thresholds"]]
    return Agreement(
        recordings=len(signals),
        pairs=len(expected),
        stddev=float(expected.std()),
        largest=float(np.abs(actual - expected).max()),
        flips={t: int(((actual <= t) != (expected <= t)).sum()) for t in thresholds},
    )


def recordings_of(name: str) -> list[np.ndarray]:
    """Returns at most `MOST` recordings of a model's test people, or of its training people if the
    published model was trained on all people."""
    signals = quality.test_recordings(zoo.card(name)).signals
    rows = np.linspace(0, len(signals) - 1, min(MOST, len(signals))).astype(int)
    return [signals[row] for row in rows]


def main(names: edge_files.Names = None):
    """Prints how far the scores of files differ from the scores of Keras."""
    print("| model | recordings | pairs | stddev | largest difference / stddev | flips |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in names or edge_files.names_of_recordings():
        row = measure(edge.load(name), name, recordings_of(name))
        flips = f"{sum(row.flips.values())} of {len(row.flips) * row.pairs:,}"
        print(
            f"| {name} | {row.recordings} | {row.pairs:,} | {row.stddev:.3g} | "
            f"{row.largest / row.stddev:.1e} | {flips} |",
            flush=True,
        )


if __name__ == "__main__":
    typer.run(main)
