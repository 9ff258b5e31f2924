"""Fits `watch_lda` in closed form. This model recognizes walkers by a watch on the wrist.

The model computes lagged correlations and means of the acceleration. Linear discriminant analysis
of the correlations and means separates the people. The settings of each model are chosen by
cross-validation over its training people. The figures are cross-validated over three groups of five
people. The published file is the model for the first group. This model is fitted to the ten people
of the other groups. To list the options, run `python -m zoo.watch_lda.train --help` from the
checkout.
"""

import functools
import time

import typer

from keras_dml.training import discriminants, measure
from keras_dml.training.golden import synthetic_recordings
from zoo import recipe, walk_discriminants, watch, watch_baselines

LAGS = (0, 2, 4, 8, 16), (0, 4, 8, 16, 32), (0, 8, 16, 24, 32, 48)  # steps of 20 ms
# Settings that are chosen by cross-validation over the training people.
CANDIDATES = {
    lags: functools.partial(discriminants.correlation_features, lags=lags, means=True)
    for lags in LAGS
}

examples = watch.examples


def known_recordings():
    """Returns the training walks of the published file, at all tempos and with mirror images."""
    return watch.variants(watch.walks(watch.KNOWN)).signals


@recipe.command(steps=1)
def main(run):
    """Cross-validates over three groups of people. With --publish, also publishes the model for the
    first group.
    """
    training, unseen = watch.walks(watch.KNOWN), watch.walks(watch.UNSEEN)
    walkers = training + unseen
    groups = watch.groups(training.subjects, unseen.subjects)
    start = time.monotonic()
    models, settings = [], []
    for model, chosen in walk_discriminants.of_groups(walkers, groups, CANDIDATES):
        models.append(model)
        settings.append(chosen)
        run.minutes = run.minutes or (time.monotonic() - start) / 60  # of the published model
    distances = [watch_baselines.cosine(model)(walkers.signals) for model in models]
    cross = watch.Cross(distances, walkers, groups)
    measured = measure.Measurement(cross.rows(), cross.trials())
    run.save(measured, watch.CAPTION)
    if run.publishes:
        golden = synthetic_recordings(3, (250, 300, 100), (3.0, 4.0, 3.0))
        run.publish(
            models[0],
            [signal + [watch.GRAVITY, 0, 0] for signal in golden],
            measured,
            data={"train_subjects": sorted(set(training.subjects)), "test_subjects": groups[0]},
            recordings=known_recordings(),
            folds=models,
            chosen=_in_words(settings),
        )


def _in_words(settings):
    """Describes the settings for the groups in words, for the card."""
    return " ".join(
        f"Model {number} has lags of {_milliseconds(lags)} and a bound of {limit:g}."
        for number, (lags, limit) in enumerate(settings, 1)
    )


def _milliseconds(lags):
    """Describes lags in words, such as `0, 40 and 80 ms`."""
    *first, last = (str(1000 * lag // watch.RATE_HZ) for lag in lags)
    return f"{', '.join(first)} and {last} ms"


if __name__ == "__main__":
    typer.run(main)
