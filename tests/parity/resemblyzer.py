"""Compares the converted voice encoder with Resemblyzer 0.1.4 on recordings of RAVDESS and Hyke.

python -m tests.parity.resemblyzer build/ge2e.weights.h5 --resemblyzer /path/to/python

The option `--resemblyzer` names an interpreter that can import Resemblyzer.
`zoo/voice_ge2e_sim/convert.py` describes how to install Resemblyzer, and writes the file of
weights. The script does not use the silence trimming of Resemblyzer. The exit status is 1 if a
component of an embedding differs by more than the bound.
"""

import pathlib
import sys
from typing import Annotated

import numpy as np
import typer

import keras_dml
from keras_dml import models
from tests.bench import speakers
from zoo import speech, telephone

BOUND = 1e-4


def main(
    weights: Annotated[pathlib.Path, typer.Argument(help="The converted weights.")],
    resemblyzer: Annotated[str, typer.Option(help="Interpreter that has Resemblyzer.")],
    every: Annotated[int, typer.Option(min=1, help="Use every n-th recording.")] = 5,
):
    """Prints the largest difference of an embedding's component, and the largest difference of the
    cosine between two recordings.
    """
    model, gaps = models.ge2e(weights), []
    for title, people in (
        ("RAVDESS", speech.utterances(prepare=False)),
        ("Hyke", telephone.lines(prepare=False)),
    ):
        signals = people.signals[::every]
        reference = speakers.embeddings(resemblyzer, signals, "whole")
        ours = keras_dml.embed(model, signals, progress=False)
        gaps.append(np.abs(ours - reference).max())
        cosines = np.abs(ours @ ours.T - reference @ reference.T).max()
        print(
            f"{title}, {len(signals)} recordings: embeddings differ by at most {gaps[-1]:.1e} "
            f"(largest component {reference.max():.2f}), cosines by {cosines:.1e}",
            flush=True,
        )
    sys.exit(int(max(gaps) > BOUND))


if __name__ == "__main__":
    typer.run(main)
