"""Trains a network with one loss without some people, and measures the network on these people."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_dml._backend import keras
from keras_dml.geometry.spd import stiefel
from keras_dml.layers import BiMap, Proxies
from keras_dml.samplers import NPairSampler, PKSampler
from zoo.papers.potato import measurements
from zoo.papers.potato.data import Clips
from zoo.papers.potato.methods import METHODS, network

PROXY_SCALE = 0.05  # the standard deviation of Keras's `random_normal`
ROWS = 64  # matrices that are embedded in one call


class Trainer:
    """Network with one loss that is compiled once and trained from many random starts.

    Args:
        method: A name of `METHODS`.
        constants: Keywords of its loss.
        sizes: Same as in `keras_dml.models.spdnet`.
        classes: Number of classes.
    """

    def __init__(
        self, method: str, constants: Mapping[str, Any], sizes: Sequence[int], classes: int
    ):
        self.method = METHODS[method]
        self.model, self.matrices = network(self.method, sizes, classes)
        self.model.compile(keras.optimizers.Adam(), self.method.loss(**constants))

    def restart(self, seed: int, learning_rate: float) -> None:
        """Resets the optimizer, and draws new weights, which are the same for all losses."""
        rng = np.random.default_rng(seed)
        for layer in dict.fromkeys([*self.matrices.layers, *self.model.layers]):
            if isinstance(layer, BiMap):
                layer.kernel.assign(stiefel.qr(rng.normal(size=layer.kernel.shape)))
            elif isinstance(layer, Proxies):
                layer.proxies.assign(PROXY_SCALE * rng.normal(size=layer.proxies.shape))
        for variable in self.model.optimizer.variables:
            variable.assign(np.zeros(variable.shape, variable.dtype))
        self.model.optimizer.learning_rate = learning_rate

    def embed(self, matrices: np.ndarray) -> np.ndarray:
        """Computes the matrices of the network, shape `(count, k, k)`, float64."""
        parts = [
            keras.ops.convert_to_numpy(self.matrices(matrices[i : i + ROWS], training=False))
            for i in range(0, len(matrices), ROWS)
        ]
        return np.concatenate(parts).astype(np.float64)


def train(trainer: Trainer, clips: Clips, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Trains a network from a random start and measures it on the people held out.

    Args:
        trainer: `Trainer` with the method, constants and sizes of the settings.
        clips: `Clips`.
        settings: Dict of `held_out`, people; `seed`; `learning_rate`; `seen`, the number of
            training matrices, repeats counted; `stops`, the number of measurements on the way;
            `batch_classes` and `per_class`; `samples`, the largest number of clips of a class that
            calibrate the potatoes; `spread`, whether to measure the distances of Kim2020, Fig. 2.

    Returns:
        Dict of `history`, for each stop a dict of the matrices `seen`, the mean `loss` since the
        previous stop, and `figures` by person; and, if asked for, `spread` by person.
    """
    mask = clips.training_mask(settings["held_out"])
    inputs = clips.matrices.astype(np.float32)
    x, y = inputs[mask], clips.labels[mask]
    batches = _batches(trainer.method, x, y, settings)
    trainer.restart(settings["seed"], settings["learning_rate"])
    is_potato = trainer.method.head == "potato"
    if is_potato:
        trainer.model.calibrate(x, y, samples=settings["samples"], seed=settings["seed"])
    history, start = [], 0
    for stop in range(1, settings["stops"] + 1):
        trainer.model.reset_metrics()
        end = math.ceil(len(batches) * stop / settings["stops"])
        for i in range(start, end):
            logs = trainer.model.train_on_batch(*batches[i], return_dict=True)
        start = end
        embedded = trainer.embed(inputs)
        history.append(
            {
                "seen": round(settings["seen"] * stop / settings["stops"]),
                "loss": float(logs["loss"]),
                "figures": measure_people(embedded, clips, settings["held_out"], is_potato),
            }
        )
    result = {"history": history}
    if settings["spread"]:
        result["spread"] = spread_of_people(embedded, clips, settings["held_out"])
    return result


def measure_people(
    embedded: np.ndarray, clips: Clips, held_out: Sequence[str], riemannian: bool
) -> dict[str, dict[str, float]]:
    """Computes the figures of each person held out, with all training people as the gallery."""
    mask = clips.training_mask(held_out)
    return {
        person: measurements.measure(
            *_with_gallery(embedded, clips, mask, person), riemannian=riemannian
        )
        for person in held_out
    }


def spread_of_people(
    embedded: np.ndarray, clips: Clips, held_out: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Computes the distances to the centers of the classes for each person held out."""
    mask = clips.training_mask(held_out)
    return {
        person: measurements.spread(*_with_gallery(embedded, clips, mask, person))
        for person in held_out
    }


def _with_gallery(embedded, clips, training_mask, person):
    """Returns matrices, labels and queries of one person and of the training people."""
    queries = clips.people == person
    rows = training_mask | queries
    return embedded[rows], clips.labels[rows], queries[rows]


def _batches(method, x, y, settings):
    """Returns a sampler with as many batches as the number of training matrices needs."""
    classes, per_class = settings["batch_classes"], 2 if method.pairs else settings["per_class"]
    steps = math.ceil(settings["seen"] / (classes * per_class))
    options = {"steps": steps, "seed": settings["seed"]}
    if method.pairs:
        return NPairSampler(x, y, classes, **options)
    return PKSampler(x, y, classes, per_class, **options)
