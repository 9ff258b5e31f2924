"""Fits `gait_lda` in closed form. This model recognizes walkers by five seconds of one foot's
sensor.

The model computes the lagged correlations between the channels of a window. Linear discriminant
analysis of the correlations separates the people. The model is fitted to the people in the splits
`train` and `validation` of the public gait archive, and measured on the people in the split `test`.
To list the options, run `python -m zoo.gait_lda.train --help` from the checkout.
"""

import time

import numpy as np
import typer

from keras_dml.training import discriminants
from zoo import gait, recipe, sequences

# The lags and the number of discriminants were chosen in three folds of the people of `train` and
# `validation`. With the chosen settings, the means over both feet are a pooled EER of 1.1 %, an EER
# of 2.7 % for single pairs and an EER of 1.0 % with the protocol of the paper. The same three EERs
# are 1.3, 2.5 and 1.1 % with 96 discriminants, and 1.4, 2.9 and 1.1 % with nine lags. If right feet
# are not mirrored, the three EERs are 1.6, 3.0 and 1.2 % with the chosen settings, 2.0, 3.9 and
# 1.7 % with 32 discriminants, and 1.6, 3.5 and 1.6 % with the L1 distance.
LAGS, DISCRIMINANTS = (0, 4, 8, 16, 32), 64

known_recordings = gait.known_recordings


def fitted(walkers):
    """Fits the model to the given walkers.

    Args:
        walkers: Result of `gait.both_feet`, with all people or some of them.
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
    """Fits the model to the walkers of the splits `train` and `validation`, and measures it on the
    walkers of the split `test` with two protocols.
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
