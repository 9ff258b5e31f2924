"""Tests that the nearest people are found with and without lower bounds of the distance."""

import numpy as np
import pytest

from keras_dml import distances, scoring
from keras_dml.gallery.templates import FIRST, Templates

NEAREST = scoring.get("nearest")


class Model:
    """Simulated model that counts the embeddings that it compares."""

    def __init__(self, distance):
        self.distance, self.compared = distance, 0

    def distances(self, probes, stored):
        self.compared += len(stored)
        return np.asarray(self.distance(probes, stored))

    def lower_bounds(self, stored):
        return self.distance.lower_bounds(stored)


def quantiles(rng, count, filters=4, knots=6):
    levels = rng.normal(scale=3, size=(count, filters, 1))
    values = np.sort(levels + rng.normal(size=(count, filters, knots)), axis=-1)
    row = np.broadcast_to(np.linspace(0, 1, knots), (count, 1, knots))
    return np.concatenate([values, row], axis=1).astype("float32")


@pytest.mark.parametrize("top", [1, 5, FIRST, 400])
@pytest.mark.parametrize("probes", [1, 3])
def test_nearest_equals_a_full_comparison(rng, top, probes):
    people = np.repeat([f"{i:03d}" for i in range(300)], 2)
    enrolled = np.ones(600, bool)
    enrolled[rng.choice(600, 40, replace=False)] = False
    templates = Templates(people, enrolled, quantiles(rng, 600), NEAREST)
    z, model = quantiles(rng, probes), Model(distances.Wasserstein())
    scores, denied = templates.scores(model, z, templates.names)
    scores = np.where(denied, np.inf, scores)
    order = np.argsort(scores, kind="stable")[:top]
    nearest_people, _ = templates.nearest(model, z, top)
    assert [name for name, _ in nearest_people] == [templates.names[i] for i in order]
    np.testing.assert_allclose([score for _, score in nearest_people], scores[order], rtol=1e-5)


def test_lower_bounds_save_comparisons(rng):
    z = quantiles(rng, 5000)
    templates = Templates([f"{i:04d}" for i in range(5000)], np.ones(5000, bool), z, NEAREST)
    model = Model(distances.Wasserstein())
    assert templates.nearest(model, z[1234:1235], 5)[0][0][0] == "1234"
    assert model.compared < 1000
    exhaustive = Model(distances.Stein())
    matrices = np.tile(np.eye(3), (200, 1, 1)) * rng.uniform(1, 9, (200, 1, 1))
    templates = Templates([f"{i:03d}" for i in range(200)], np.ones(200, bool), matrices, NEAREST)
    assert templates.nearest(exhaustive, matrices[7:8], 1)[0][0][0] == "007"
    assert exhaustive.compared == 200
