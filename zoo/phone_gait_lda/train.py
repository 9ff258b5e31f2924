"""Fits `phone_gait_lda` in closed form. This model recognizes walkers by a phone in the trouser
pocket.

The model rotates windows of ten seconds into the frame of gravity and computes lagged correlations.
Linear discriminant analysis of the correlations separates the people. The figures are
cross-validated over the same groups as in `phone_gait_qp_wl`, and the published model is fitted to
all people. To list the options, run `python -m zoo.phone_gait_lda.train --help` from the checkout.
"""

import time

import typer

from keras_dml.training import measure
from zoo import phone, phone_baselines, recipe

examples, known_recordings = phone.examples, phone.known_recordings


@recipe.command(steps=1)
def main(run):
    """Cross-validates over six groups of people. With --publish, also fits the final model to all
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
