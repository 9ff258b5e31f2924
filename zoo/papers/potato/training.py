"""Trains a network with one loss. Some people are held out of the training, and the network is
measured on them.
"""

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
    """Network that is compiled once with one loss and trained from several random initializations.

    Args:
        method: A name of `METHODS`.
        constants: Keyword arguments of the loss.
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
        """Resets the optimizer and draws new weights. With the same seed, all losses start from the
        same weights.
        """
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
        """Computes the output matrices of the network, shape `(count, k, k)`, float64."""
        parts = [
            keras.ops.convert_to_numpy(self.matrices(matrices[i : i + ROWS], training=False))
            for i in range(0, len(matrices), ROWS)
        ]
        return np.concatenate(parts).astype(np.float64)


def train(trainer: Trainer, clips: Clips, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Trains a network from a random initialization and measures it on the people who are held out.

    Args:
        trainer: `Trainer` with the method, constants and sizes of the settings.
        clips: `Clips`.
        settings: Dictionary with the following entries. `held_out` names people. `seen` is the
            number of matrices in all batches of the training. `stops` is the number of measurements
            during the training. `samples` is the largest number of clips per class that calibrate
            the Riemannian potatoes. `spread` is true if the distances in Kim2020, Fig. 2, are
            measured. The other entries are `seed`, `learning_rate`, `batch_classes` and
            `per_class`.

    Returns:
        Dictionary with `history`. It is a list with one dictionary per stop, which contains the
        number of matrices `seen`, the mean `loss` since the previous stop, and the `figures` of
        each person. If the setting `spread` is true, the dictionary also contains the `spread` of
        each person.
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
    """Computes the figures of each person who is held out. The gallery contains all training
    people.
    """
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
    """Computes the distances to the centers of the classes for each person who is held out."""
    mask = clips.training_mask(held_out)
    return {
        person: measurements.spread(*_with_gallery(embedded, clips, mask, person))
        for person in held_out
    }


def _with_gallery(embedded, clips, training_mask, person):
    """Returns the matrices and labels of one person and of the training people, and whether each
    matrix is a query.
    """
    queries = clips.people == person
    rows = training_mask | queries
    return embedded[rows], clips.labels[rows], queries[rows]


def _batches(method, x, y, settings):
    """Returns a sampler. The number of batches follows from the number of training matrices."""
    classes, per_class = settings["batch_classes"], 2 if method.pairs else settings["per_class"]
    steps = math.ceil(settings["seen"] / (classes * per_class))
    options = {"steps": steps, "seed": settings["seed"]}
    if method.pairs:
        return NPairSampler(x, y, classes, **options)
    return PKSampler(x, y, classes, per_class, **options)
