"""Fits `pocket_lda` in closed form. This model recognizes walkers by the accelerometer and the
gyroscope of a phone in the pocket.

The model rotates accelerations and angular rates into the frame of gravity and computes lagged
correlations and means. Linear discriminant analysis of the correlations and means separates the
people. The people, the runs, the choice of settings and the cross-validation are the same as for
`watch_lda`. To list the options, run `python -m zoo.pocket_lda.train --help` from the checkout.
"""

import functools
import time

import typer

from keras_dml.training import discriminants, measure
from keras_dml.training.golden import synthetic_recordings
from zoo import pocket, recipe, walk_discriminants, watch, watch_baselines

HORIZONTALS = {"magnitude": "horizontal magnitudes", "both": "horizontal axes and magnitudes"}
# Settings that are chosen by cross-validation over the training people.
CANDIDATES = {
    horizontal: functools.partial(
        discriminants.correlation_features,
        lags=watch_baselines.LAGS,
        front=pocket.front(horizontal),
        means=True,
    )
    for horizontal in HORIZONTALS
}

examples = pocket.examples


def known_recordings():
    """Returns the training walks of the published file, at all tempos, with mirror images and in
    random orientations.
    """
    return pocket.turned(watch.variants(pocket.walks(watch.KNOWN))).signals


@recipe.command(steps=1)
def main(run):
    """Cross-validates over three groups of people. With --publish, also publishes the model for the
    first group.
    """
    training, unseen = pocket.walks(watch.KNOWN), pocket.walks(watch.UNSEEN)
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
        golden = synthetic_recordings(6, (250, 300, 100), (3.0, 4.0, 3.0, 1.0, 1.0, 1.0))
        run.publish(
            models[0],
            [signal + [0, watch.GRAVITY, 0, 0, 0, 0] for signal in golden],
            measured,
            data={"train_subjects": sorted(set(training.subjects)), "test_subjects": groups[0]},
            recordings=known_recordings(),
            folds=models,
            chosen=_in_words(settings),
        )


def _in_words(settings):
    """Describes the settings for the groups in words, for the card."""
    return " ".join(
        f"Model {number} uses {HORIZONTALS[horizontal]} and a bound of {limit:g}."
        for number, (horizontal, limit) in enumerate(settings, 1)
    )


if __name__ == "__main__":
    typer.run(main)
