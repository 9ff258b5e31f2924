"""Fits `gait_lda` in closed form, which recognizes walkers by five seconds of one foot's sensor.

The model consists of linear discriminants between people of the lagged correlations of a window's
channels. It is fitted to the public gait archive's `train` and `validation` people and measured on
its `test` people, without training on them. From the checkout:
`python -m zoo.gait_lda.train --help`.
"""

import time

import numpy as np
import typer

from keras_dml.training import discriminants
from zoo import gait, recipe, sequences

# Of three folds of the people of `train` and `validation`, the mean of both feet: pooled EER 1.1 %,
# single pairs 2.7 %, paper's protocol 1.0 %; right feet as recorded, not mirrored, 1.6, 3.0 and
# 1.2 %. With 96 discriminants 1.3, 2.5 and 1.1 %, with nine lags 1.4, 2.9 and 1.1 %. Right feet as
# recorded: with 32 discriminants 2.0, 3.9 and 1.7 %, by the L1 distance 1.6, 3.5 and 1.6 %.
LAGS, DISCRIMINANTS = (0, 4, 8, 16, 32), 64

known_recordings = gait.known_recordings


def fitted(walkers):
    """Fits the model to some walkers.

    Args:
        walkers: `gait.both_feet`, or a part of its people.
    """
    windows = gait.mirrored(walkers).windows(gait.WINDOW, gait.STRIDE)
    return discriminants.correlation_model(
        np.stack(windows.signals),
        windows.subjects,
        LAGS,
        DISCRIMINANTS,
        adapt_to=gait.left_feet(walkers).signals,
    )


@recipe.command(steps=1)
def main(run):
    """Fits the model to the walkers of `train` and `validation`, and measures it on the walkers of
    `test` by both protocols.
    """
    walkers, start = gait.both_feet(), time.monotonic()
    model = fitted(walkers)
    run.minutes = (time.monotonic() - start) / 60
    test = gait.walks("test").windows(gait.WINDOW)
    measured = sequences.evaluate(run, model, test)
    if run.publishes:
        gait.publish(run, model, walkers, test, measured)


if __name__ == "__main__":
    typer.run(main)
