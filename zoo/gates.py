"""Adds the gate of quality to cards of published models of sequences and sound, never to their
files.

From the checkout: `python -m zoo.gates gait_lda vowels_qp_wl`.
"""

import dataclasses
import importlib
from typing import Annotated

import typer

from keras_dml import quality, training, zoo
from keras_dml.training.own import task
from zoo import evidence

MOST_REFUSED = 0.01  # of the recordings that a gate is measured on

Names = Annotated[list[str], typer.Argument(help="Models of sequences or sound of the zoo.")]


def main(names: Names):
    """Writes what training recordings are usually like into the cards of published models."""
    for name in names:
        recordings = importlib.import_module(f"zoo.{name}.train").known_recordings()
        gate = describe(zoo.card(evidence.ZOO / name)["input"], recordings)
        if gate is not None:
            training.update(evidence.ZOO / name, **{quality.CARD_KEY: gate})
        print(f"{name}: {gate}")


def describe(described, recordings):
    """What a card says under `quality`, see `keras_dml.quality.described`.

    Args:
        described: The card's `input`.
        recordings: Training recordings, whose shortest says from how many steps on others are
            judged by their magnitude.

    Returns:
        Dict; None where the gate would refuse more than one in a hundred of these recordings.
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
    """Whether a card's `input` is sound, whose loudness says nothing."""
    return task.resolve_kind(None, len(described["channels"]), described["rate_hz"]) == task.SOUND


if __name__ == "__main__":
    typer.run(main)
