"""Fits `eye_lda` in closed form. This model recognizes people by nine seconds of one eye's
movements.

The model computes the means and the lagged correlations of slow and fast velocities. Linear
discriminant analysis of the means and correlations separates the people. The figures are
cross-validated over the folds of `eye_qp_wl`, and the published model is fitted to all people. To
list the options, run `python -m zoo.eye_lda.train --help` from the checkout.
"""

import time

import numpy as np
import typer

from keras_dml.training import discriminants
from keras_dml.training.golden import synthetic_recordings
from zoo import across_films, eyes, recipe

LAGS, DISCRIMINANTS = (0, 1, 2, 4, 8, 16, 32), 24
STRIDE = eyes.WINDOW // 2

examples, known_recordings = eyes.examples, eyes.known_recordings


def fitted(watchers):
    """Fits the model to the given people.

    Args:
        watchers: Result of `eyes.one_eye`, with all people or some of them.
    """
    windows = watchers.windows(eyes.WINDOW, STRIDE)
    return discriminants.correlation_model(
        np.stack(windows.signals),
        windows.subjects,
        LAGS,
        DISCRIMINANTS,
        adapt_to=watchers.signals,
        front=(eyes.slow_and_fast,),
        means=True,
    )


@recipe.command(steps=1)
def main(run):
    """Cross-validates over six folds of people. With --publish, also fits the final model to all
    people.
    """
    watchers = eyes.one_eye()
    folds = [fitted(watchers.without(fold)) for fold in across_films.groups(watchers)]
    windows = watchers.windows(eyes.WINDOW)
    measured = across_films.of_models(windows, folds)
    run.save(measured, across_films.caption(windows))
    if run.publishes:
        start = time.monotonic()
        model = fitted(watchers)
        run.minutes = (time.monotonic() - start) / 60
        stddev = np.concatenate(watchers.signals).std(axis=0)
        run.publish(
            model,
            synthetic_recordings(len(stddev), (eyes.WINDOW, 1000, 250), stddev),
            measured,
            data={"train_subjects": sorted(set(watchers.subjects))},
            recordings=windows.signals,
            folds=folds,
        )


if __name__ == "__main__":
    typer.run(main)
