"""One run: a network trained by one loss without some people, and its figures on them."""

import math

import numpy as np

from keras_dml._backend import keras
from keras_dml.geometry.spd import stiefel
from keras_dml.layers import BiMap, Proxies
from keras_dml.reproduce.potato import figures
from keras_dml.reproduce.potato.methods import METHODS, network
from keras_dml.samplers import NPairSampler, PKSampler

PROXY_SCALE = 0.05  # the standard deviation of Keras's `random_normal`
ROWS = 64  # matrices embedded at once


class Trainer:
    """A network under one loss that is trained from many starts; it compiles once.

    Args:
        method: A name of `METHODS`.
        constants: Keywords of its loss.
        sizes: Same as in `keras_dml.models.spdnet`.
        classes: Number of classes.
    """

    def __init__(self, method, constants, sizes, classes):
        self.method = METHODS[method]
        self.model, self.matrices = network(self.method, sizes, classes)
        self.model.compile(keras.optimizers.Adam(), self.method.loss(**constants))

    def restart(self, seed, learning_rate):
        """New weights, the same for all losses, and an optimizer that has seen nothing."""
        rng = np.random.default_rng(seed)
        for layer in dict.fromkeys([*self.matrices.layers, *self.model.layers]):
            if isinstance(layer, BiMap):
                layer.kernel.assign(stiefel.qr(rng.normal(size=layer.kernel.shape)))
            elif isinstance(layer, Proxies):
                layer.proxies.assign(PROXY_SCALE * rng.normal(size=layer.proxies.shape))
        for variable in self.model.optimizer.variables:
            variable.assign(np.zeros(variable.shape, variable.dtype))
        self.model.optimizer.learning_rate = learning_rate

    def embed(self, matrices):
        """Matrices of the network, shape `(count, k, k)`, float64."""
        parts = [
            keras.ops.convert_to_numpy(self.matrices(matrices[i : i + ROWS], training=False))
            for i in range(0, len(matrices), ROWS)
        ]
        return np.concatenate(parts).astype(np.float64)


def train(trainer, clips, settings):
    """Trains from one start and measures the network on the people held out.

    Args:
        trainer: `Trainer` of the settings' method, constants and sizes.
        clips: `Clips`.
        settings: Dict of `held_out`, the people; `seed`; `learning_rate`; `seen`, how many matrices
            are trained on, repeats counted; `stops`, how often figures are measured on the way;
            `batch_classes` and `per_class`; `samples`, the largest number of a class that potatoes
            are calibrated by; `spread`, whether the distances of Kim2020, Fig. 2, are measured.

    Returns:
        Dict of `history`, a dict for each stop with the matrices `seen`, the mean `loss` since the
        stop before, and `figures` by person; with `spread` also `figures.spread` by person.
    """
    known = clips.split(settings["held_out"])
    inputs = clips.matrices.astype(np.float32)
    x, y = inputs[known], clips.labels[known]
    batches = _batches(trainer.method, x, y, settings)
    trainer.restart(settings["seed"], settings["learning_rate"])
    if trainer.method.head == "potato":
        trainer.model.calibrate(x, y, samples=settings["samples"], seed=settings["seed"])
    history, done = [], 0
    for stop in range(1, settings["stops"] + 1):
        trainer.model.reset_metrics()
        until = math.ceil(len(batches) * stop / settings["stops"])
        for i in range(done, until):
            logs = trainer.model.train_on_batch(*batches[i], return_dict=True)
        done = until
        embedded = trainer.embed(inputs)
        history.append(
            {
                "seen": round(settings["seen"] * stop / settings["stops"]),
                "loss": float(logs["loss"]),
                "figures": by_person(
                    embedded, clips, settings["held_out"], trainer.method.head == "potato"
                ),
            }
        )
    result = {"history": history}
    if settings["spread"]:
        result["spread"] = spread_by_person(embedded, clips, settings["held_out"])
    return result


def by_person(embedded, clips, held_out, riemannian):
    """Figures of each person held out, against all who are not."""
    known = clips.split(held_out)
    return {
        person: figures.measure(
            *_of(embedded, clips, known, person),
            riemannian=riemannian,
        )
        for person in held_out
    }


def spread_by_person(embedded, clips, held_out):
    """Distances to the classes' centers of each person held out."""
    known = clips.split(held_out)
    return {person: figures.spread(*_of(embedded, clips, known, person)) for person in held_out}


def _of(embedded, clips, known, person):
    """Matrices, labels and queries of one person against all who are known."""
    theirs = clips.people == person
    taken = known | theirs
    return embedded[taken], clips.labels[taken], theirs[taken]


def _batches(method, x, y, settings):
    """As many batches as have the matrices that are to be seen."""
    classes, per_class = settings["batch_classes"], 2 if method.pairs else settings["per_class"]
    steps = math.ceil(settings["seen"] / (classes * per_class))
    chosen = {"steps": steps, "seed": settings["seed"]}
    if method.pairs:
        return NPairSampler(x, y, classes, **chosen)
    return PKSampler(x, y, classes, per_class, **chosen)
