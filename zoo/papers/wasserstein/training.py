"""Trains the networks of the comparison. Each network is trained once and saved in a file."""

import dataclasses
import pathlib
import shutil
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from keras_dml import inference, models
from keras_dml._backend import keras
from keras_dml._files import staged
from keras_dml.models.eye_velocity import fast_velocities
from keras_dml.samplers import NPairSampler
from keras_dml.training import Optimization, fit, without_optimizer
from zoo.papers.wasserstein import methods
from zoo.papers.wasserstein.measurements import auc_of_pairs
from zoo.papers.wasserstein.methods import METHODS, Method
from zoo.papers.wasserstein.recordings import Division, Recordings
from zoo.papers.wasserstein.settings import CONSTANT

STEPS_PER_EPOCH = 100  # a checkpoint is written after each epoch
WARM_UP = 100  # steps, at most a quarter of all steps


@dataclasses.dataclass(frozen=True)
class ConstantRate:
    """Settings for Adam with a constant learning rate, as in Abdelwahab2019, section 5.3."""

    learning_rate: float

    def optimizer(self, steps: int):
        """Returns a new optimizer. The argument, the number of steps, is ignored."""
        return keras.optimizers.Adam(self.learning_rate)


class Trainings:
    """Trains the networks of the comparison, stores them in files and loads them.

    Args:
        division: `Division`.
        path_of: Function from settings to the path of the trained network. During the training,
            checkpoints are in a folder that has the name of the file without the suffix.
    """

    def __init__(self, division: Division, path_of: Callable[[Mapping[str, Any]], pathlib.Path]):
        self.division, self.path_of = division, path_of
        self._latest = None, None  # settings and network

    def run(self, settings: Mapping[str, Any]) -> dict[str, float]:
        """Trains a network and saves it. The training continues from a checkpoint if a checkpoint
        exists.

        Args:
            settings: Dictionary with `method`, `seed`, `steps`, `pairs`, `length`, `learning_rate`,
                `schedule`, `scale`, `slope_l2`, `size`, `halvings` and `narrower`.

        Returns:
            Dictionary with `loss` and `validation`. `loss` is the loss in the last epoch.
            `validation` is the area under the ROC curve over all pairs of recordings of the
            validation people.
        """
        method = METHODS[settings["method"]]
        path = self.path_of(settings)
        folder = path.with_suffix("")
        train = _train_in_parts if method.reads == methods.VELOCITIES else _train
        model, history = train(method, self.division.train, settings, folder)
        with staged(path) as candidate:
            model.save(candidate)
        shutil.rmtree(folder)
        self._latest = settings, model
        validation = self.division.validation
        distances = distances_between(method, model, validation)
        return {
            "loss": history[-1]["loss"],
            "validation": auc_of_pairs(distances, validation.subjects),
        }

    def network(self, settings: Mapping[str, Any]):
        """Returns the trained network, a model that computes embeddings."""
        if self._latest[0] != settings:
            self._latest = settings, keras.saving.load_model(self.path_of(settings))
        return self._latest[1]

    def untrained(self, settings: Mapping[str, Any]):
        """Returns the network before its first training step."""
        method = METHODS[settings["method"]]
        train = self.division.train
        if method.reads == methods.VELOCITIES:
            return _embedding_model(_eye_network(_eye_parts(train, settings), settings))
        return methods.untrained_encoder(method, network_inputs(method, train), settings)


def network_inputs(method: Method, recordings: Recordings) -> list[np.ndarray]:
    """Returns the arrays that the network of a method takes, one per recording."""
    return getattr(recordings, method.reads)


def embed(method: Method, model, recordings: Recordings) -> np.ndarray:
    """Computes the embedding of each recording."""
    return inference.embed(model, network_inputs(method, recordings), progress=False)


def distances_between(method: Method, model, recordings: Recordings) -> np.ndarray:
    """Computes distances between all recordings, shape `(recordings, recordings)`."""
    z = embed(method, model, recordings)
    return inference.distance(method.distance, z, z)


def _train(method, recordings, settings, folder):
    """Trains the encoder of a method. Returns the encoder and the history of the training."""
    signals = network_inputs(method, recordings)
    encoder = methods.untrained_encoder(method, signals, settings)
    batches = _batches(signals, recordings.subjects, settings)
    classes = len(batches.class_names)
    model, loss = methods.model_and_loss(method, encoder, classes, settings["scale"])
    history = _fit_model(model, batches, settings, folder, loss)
    return without_optimizer(encoder), history


def _train_in_parts(method, recordings, settings, folder):
    """Trains the two parts of the network in Jaeger2019, and then the layers that join the
    parts.
    """
    batches = _batches(network_inputs(method, recordings), recordings.subjects, settings)
    loss = keras.losses.SparseCategoricalCrossentropy()
    parts = _eye_parts(recordings, settings)
    for part in parts:
        _fit_model(part, batches, settings, folder / part.name, loss)
    network = _eye_network(parts, settings)
    history = _fit_model(network, batches, settings, folder / network.name, loss)
    embedding = _embedding_model(_eye_network(_eye_parts(recordings, settings), settings))
    embedding.set_weights(_embedding_model(network).get_weights())  # without an optimizer
    return embedding, history


def _eye_parts(recordings, settings):
    keras.utils.set_random_seed(settings["seed"])
    velocities = recordings.velocities
    shape = len(velocities[0]), len(recordings.names)
    narrower = {"narrower": settings["narrower"]}
    slow, fast = (models.eye_velocity_part(kind, *shape, **narrower) for kind in ("slow", "fast"))
    inputs = fast_velocities(keras.ops.convert_to_tensor(np.stack(velocities)))
    fast.get_layer("standardize").adapt(keras.ops.convert_to_numpy(inputs))
    return slow, fast


def _eye_network(parts, settings):
    keras.utils.set_random_seed(settings["seed"])
    return models.eye_velocity_network(*parts, narrower=settings["narrower"])


def _embedding_model(network):
    return keras.Model(network.input, network.get_layer("embedding").output, name="embedding")


def _batches(signals, subjects, settings):
    shortest = min(map(len, signals))
    is_cropped = METHODS[settings["method"]].reads != methods.VELOCITIES and settings["length"]
    return NPairSampler(
        signals,
        subjects,
        pairs=min(settings["pairs"], len(set(subjects.tolist()))),
        length=min(settings["length"], shortest) if is_cropped else shortest,
        steps=min(STEPS_PER_EPOCH, settings["steps"]),
        seed=settings["seed"],
    )


def _fit_model(model, batches, settings, folder, loss):
    """Trains a model and returns the history. The training continues from a checkpoint if a
    checkpoint exists.
    """
    rate, steps = settings["learning_rate"], settings["steps"]
    if settings["schedule"] == CONSTANT:
        optimization = ConstantRate(rate)
    else:
        optimization = Optimization(rate, warm_up=min(WARM_UP, steps // 4))
    result = fit(
        model,
        batches,
        steps=steps,
        optimization=optimization,
        folder=folder,
        resume=True,
        loss=loss,
    )
    return result.history
