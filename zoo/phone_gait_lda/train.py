"""Fits `phone_gait_lda` in closed form, which recognizes walkers by a phone in the trouser pocket.

The model consists of linear discriminants between people of lagged correlations in the frame of
gravity, for windows of ten seconds. The figures are cross-validated over the groups of
`phone_gait_qp_wl`; the published model is fitted to all people. From the checkout:
`python -m zoo.phone_gait_lda.train --help`.
"""

import time

import typer

from keras_dml.training import measure
from zoo import phone, phone_baselines, recipe

examples, known_recordings = phone.examples, phone.known_recordings


@recipe.command(steps=1)
def main(run):
    """Cross-validates over six groups of people. With --publish also fits the final model to all
    people.
    """
    walkers = phone.walks()
    groups = phone.groups(walkers)
    folds = [phone_baselines.discriminants_of(walkers.without(group)) for group in groups]
    results = phone.measured([phone_baselines.cosine_distances(fold) for fold in folds], walkers)
    measured = measure.Measurement(phone.rows(results), phone.measurement(results).trials)
    run.save(measured, phone.caption(walkers))
    if run.publishes:
        start = time.monotonic()
        model = phone_baselines.discriminants_of(walkers)
        run.minutes = (time.monotonic() - start) / 60
        phone.publish(run, model, walkers, measured, folds)


if __name__ == "__main__":
    typer.run(main)
