"""Adds the quality gate to the cards of published models of sequences and audio.

The model files do not change. Run `python -m zoo.gates gait_lda gait_qp_wl` from the checkout.
"""

import dataclasses
import importlib
from typing import Annotated

import typer

from keras_dml import quality, training
from keras_dml.training.own import task
from zoo import evidence

MOST_REFUSED = 0.01  # fraction of the recordings from which a gate is computed

Names = Annotated[list[str], typer.Argument(help="Models of sequences or sound of the zoo.")]


def main(names: Names):
    """Measures what usual training recordings look like, and writes these properties into the cards
    of published models.
    """
    for name in names:
        recordings = importlib.import_module(f"{evidence.module(name)}.train").known_recordings()
        gate = describe(evidence.card(name)["input"], recordings)
        if gate is not None:
            training.update(evidence.folder(name), **{quality.CARD_KEY: gate})
        print(f"{name}: {gate}")


def describe(described, recordings):
    """Computes the entry `quality` of a card, see `keras_dml.quality.described`.

    Args:
        described: Entry `input` of the card.
        recordings: Training recordings. The gate judges the magnitude of a recording on a number of
            steps, which is the length of the shortest training recording.

    Returns:
        A dictionary, or None if the gate would refuse more than 1 % of the training recordings.
    """
    channels, units = tuple(described["channels"]), tuple(described["units"])
    usual = quality.Usual(channels, is_sound(described), units=units)
    usual = usual.measured(recordings)
    if not usual.is_sound:
        usual = dataclasses.replace(usual, steps=min(len(recording) for recording in recordings))
    refused = sum(usual.reason(recording) is not None for recording in recordings)
    print(f"The gate refuses {refused:,} of {len(recordings):,} training recordings.", flush=True)
    return quality.described(usual) if refused <= MOST_REFUSED * len(recordings) else None


def is_sound(described):
    """Returns True if the `input` of a card is audio. For audio, loudness is not informative."""
    return task.resolve_kind(None, len(described["channels"]), described["rate_hz"]) == task.SOUND


if __name__ == "__main__":
    typer.run(main)
