"""Adds error rates by group of people and the number of refused recordings to published cards.

The model files do not change. Run `python -m zoo.scrutiny gait_lda watch_lda` from the checkout.
"""

from typing import Annotated

import typer

from export.quality import test_recordings
from keras_dml import quality, training, zoo
from keras_dml.training import pooled
from zoo import evidence

Names = Annotated[list[str], typer.Argument(help="Models of the zoo that recognize people.")]


def main(names: Names):
    """Measures test people by groups and the quality gate on test recordings, and writes the
    results into the cards of published models.
    """
    for name in names:
        measured = evidence.of_published(name)
        changes = {"groups": pooled.by_group(measured.measured.trials, measured.groups or {})}
        counts = refused(name)
        if counts is not None:
            changes["refused"] = counts
        training.update(evidence.folder(name), **changes)
        print(f"{name}: {changes}", flush=True)


def refused(name: str) -> dict | None:
    """Counts the test recordings that the quality gate of a model refuses.

    Returns:
        The card's entry `refused`, or None if the model has no gate or its recordings are not here.
    """
    gate = quality.gate_of(zoo.load(evidence.folder(name)))
    recordings = None if gate is None else test_recordings(evidence.card(name))
    if recordings is None:
        return None
    signals = recordings.signals
    return {"refused": len(gate.refused(signals)), "recordings": len(signals)}


if __name__ == "__main__":
    typer.run(main)
