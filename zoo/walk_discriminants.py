"""Fits linear discriminants to walks with a watch or a phone, and chooses their settings by
cross-validation over the training people.
"""

import numpy as np
from scipy.spatial.distance import cdist

from keras_dml.training import discriminants, folds
from zoo import watch

HALVINGS = 3  # divisions of a model's training people, by which its settings are chosen
LIMITS = 2.0, 5.0  # bounds of a discriminant, as multiples of its deviation within a person


def fitted(walkers, features, limit):
    """Fits discriminants to the given people.

    Args:
        walkers: Result of `watch.walks`, with the walks of these people.
        features: Function that takes recordings and returns a model that computes features.
        limit: Bound for each discriminant, see `keras_dml.layers.LinearDiscriminants`.
    """
    training = watch.variants(walkers)
    return discriminants.discriminant_model(
        features(training.signals),
        training.signals,
        training.subjects,
        discriminants.COMPONENTS,
        limit=limit,
    )


def choose(walkers, candidates):
    """Chooses the features and the limit with the lowest EER. The discriminants are fitted to one
    half of the people and measured on the other half.

    Args:
        walkers: Result of `watch.walks`, with the walks of these people.
        candidates: Dictionary from names to functions, see `features` of `fitted`.

    Returns:
        Name of the best candidate, and the best limit.
    """
    training, rates = watch.variants(walkers), {}
    for name, features in candidates.items():
        values = discriminants.outputs(features(training.signals), training.signals)
        for limit in LIMITS:
            rates[name, limit] = np.mean(
                [_rate(values, training, walkers, limit, seed) for seed in range(HALVINGS)]
            )
    for settings, rate in rates.items():
        print(f"{settings}: EER {100 * rate:.2f} %", flush=True)
    return min(rates, key=rates.get)


def of_groups(walkers, groups, candidates):
    """Chooses settings and fits discriminants without the people of each group.

    Args:
        walkers: Result of `watch.walks`, with the walks of all people.
        groups: Result of `watch.groups`.
        candidates: See `choose`.

    Yields:
        The model and its settings, see `choose`.
    """
    for group in groups:
        training = walkers.without(group)
        name, limit = choose(training, candidates)
        print(f"without {', '.join(group)}: {name}, limit {limit:g}", flush=True)
        yield fitted(training, candidates[name], limit), (name, limit)


def _rate(features, training, walkers, limit, seed):
    """Divides people into two halves and computes the pooled EER of both halves. The discriminants
    for each half are fitted to the other half.

    Args:
        features: Features of the walks in `training`.
        training: Result of `watch.variants` for the people.
        walkers: Result of `watch.walks` for the people.
        limit: See `fitted`.
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
