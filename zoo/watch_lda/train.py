"""Fits `watch_lda` in closed form. This model recognizes walkers by a watch on the wrist.

The model computes lagged correlations and means of the acceleration. Linear discriminant analysis
of the correlations and means separates the people. The settings of each model are chosen by
cross-validation over its training people. The figures are cross-validated over three groups of five
people. The published file is the model for the first group. This model is fitted to the ten people
of the other groups. To list the options, run `python -m zoo.watch_lda.train --help` from the
checkout.
"""

import dataclasses
import time

import numpy as np
import typer
from scipy.spatial.distance import cdist

from keras_dml.training import discriminants, folds, measure
from keras_dml.training.golden import synthetic_recordings
from zoo import recipe, watch, watch_baselines

CAPTION = (
    "Fifteen people are divided into three groups. Each group is tested with a model that was not "
    "trained on its people. Each single run is compared with five runs of each person in the group."
)
HALVINGS = 3  # divisions of a model's training people, by which its settings are chosen


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings that are chosen by cross-validation over the training people.

    Attributes:
        lags: Lags of the correlations, in steps of 20 ms.
        limit: Bound for each discriminant, as a multiple of its standard deviation within a person.
    """

    lags: tuple[int, ...]
    limit: float


LAGS = (0, 2, 4, 8, 16), (0, 4, 8, 16, 32), (0, 8, 16, 24, 32, 48)
LIMITS = 2.0, 5.0

examples = watch.examples


def known_recordings():
    """Returns the training walks of the published file, at all tempos and with mirror images."""
    return watch.variants(watch.walks(watch.KNOWN)).signals


def fitted(walkers, settings):
    """Fits the model to the given people.

    Args:
        walkers: Result of `watch.walks`, with the walks of these people.
        settings: `Settings`.
    """
    training = watch.variants(walkers)
    features = discriminants.correlation_features(training.signals, settings.lags, means=True)
    return discriminants.discriminant_model(
        features,
        training.signals,
        training.subjects,
        discriminants.COMPONENTS,
        limit=settings.limit,
    )


def choose(walkers):
    """Chooses the settings with the lowest EER. The discriminants are fitted to one half of the
    people and measured on the other half.

    Args:
        walkers: Result of `watch.walks`, with the walks of these people.
    """
    rates = {}
    training = watch.variants(walkers)
    for lags in LAGS:
        model = discriminants.correlation_features(training.signals, lags, means=True)
        features = discriminants.outputs(model, training.signals)
        for limit in LIMITS:
            rates[Settings(lags, limit)] = np.mean(
                [_rate(features, training, walkers, limit, seed) for seed in range(HALVINGS)]
            )
    for settings, rate in rates.items():
        print(f"{settings}: EER {100 * rate:.2f} %", flush=True)
    return min(rates, key=rates.get)


def _rate(features, training, walkers, limit, seed):
    """Divides people into two halves and computes the pooled EER of both halves. The discriminants
    for each half are fitted to the other half.

    Args:
        features: Features of the walks in `training`.
        training: Result of `watch.variants` for the people.
        walkers: Result of `watch.walks` for the people.
        limit: See `Settings`.
        seed: Seed of the division into halves.
    """
    halves = folds(walkers.subjects, 2, seed)
    people = np.array([subject.split()[0] for subject in training.subjects])
    is_walk = np.isin(training.subjects, walkers.subjects)
    distances = []
    for half in halves:
        is_known = ~np.isin(people, half)
        names = np.array(training.subjects)[is_known]
        count = min(len(set(names)) - 1, features.shape[1])
        kernel, bias = discriminants.linear_weights(features[is_known], names, count)
        embeddings = limit * np.tanh((features[is_walk] @ kernel + bias) / limit)
        distances.append(cdist(embeddings, embeddings, "cosine"))
    return watch.Cross(distances, walkers, halves).eer()


@recipe.command(steps=1)
def main(run):
    """Cross-validates over three groups of people. With --publish, also publishes the model for the
    first group.
    """
    training, unseen = watch.walks(watch.KNOWN), watch.walks(watch.UNSEEN)
    walkers = training + unseen
    groups = watch.groups(training.subjects, unseen.subjects)
    models, settings = [], []
    for group in groups:
        start = time.monotonic()
        settings.append(choose(walkers.without(group)))
        models.append(fitted(walkers.without(group), settings[-1]))
        if group == groups[0]:
            run.minutes = (time.monotonic() - start) / 60
        print(f"without {', '.join(group)}: {settings[-1]}", flush=True)
    distances = [watch_baselines.cosine(model)(walkers.signals) for model in models]
    cross = watch.Cross(distances, walkers, groups)
    measured = measure.Measurement(cross.rows(), cross.trials())
    run.save(measured, CAPTION)
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
    sentences = []
    for number, model in enumerate(settings, 1):
        *lags, last = (str(1000 * lag // watch.RATE_HZ) for lag in model.lags)
        sentences.append(
            f"Model {number} has lags of {', '.join(lags)} and {last} ms and a bound of "
            f"{model.limit:g}."
        )
    return " ".join(sentences)


if __name__ == "__main__":
    typer.run(main)
