"""Networks of the comparison: each is trained once and kept in a file."""

import dataclasses
import shutil

import numpy as np

from keras_dml import inference, models
from keras_dml._backend import keras
from keras_dml._files import staged
from keras_dml.models.eye_velocity import fast_velocities
from keras_dml.reproduce.wasserstein import methods
from keras_dml.reproduce.wasserstein.figures import auc_of_pairs
from keras_dml.reproduce.wasserstein.methods import METHODS
from keras_dml.samplers import NPairSampler
from keras_dml.training import Optimization, fit, without_optimizer

STEPS_PER_EPOCH = 100  # after which a checkpoint is written
WARM_UP = 100  # steps, at most a quarter of all
COSINE, CONSTANT = "cosine", "constant"


@dataclasses.dataclass(frozen=True)
class ConstantRate:
    """Adam at one learning rate, as in Abdelwahab2019, section 5.3."""

    learning_rate: float

    def optimizer(self, steps):
        """A new optimizer, whatever the number of steps."""
        return keras.optimizers.Adam(self.learning_rate)


class Trainings:
    """Networks of the comparison.

    Args:
        division: `Division`.
        files: Function of settings that gives the path of a trained network; the checkpoints of its
            training lie in a folder beside it.
    """

    def __init__(self, division, files):
        self.division, self.files = division, files
        self._latest = None, None  # settings and network

    def run(self, settings):
        """Trains a network, from its checkpoint if there is one, and keeps it.

        Args:
            settings: Dict of `method`, `seed`, `steps`, `pairs`, `length`, `learning_rate`,
                `schedule`, `scale`, `slope_l2`, `size`, `halvings` and `narrower`.

        Returns:
            Dict of `loss`, the last epoch's, and `validation`, the area under the curve of all
            pairs of recordings of the people who choose settings.
        """
        method = METHODS[settings["method"]]
        file = self.files(settings)
        folder = file.with_suffix("")
        train = _train_by_parts if method.reads == methods.VELOCITIES else _train
        model, fitted = train(method, self.division.train, settings, folder)
        with staged(file) as candidate:
            model.save(candidate)
        shutil.rmtree(folder)
        self._latest = settings, model
        validation = self.division.validation
        distances = between(method, model, validation)
        return {
            "loss": fitted.history[-1]["loss"],
            "validation": auc_of_pairs(distances, validation.subjects),
        }

    def network(self, settings):
        """The network as it was trained, a model of embeddings."""
        if self._latest[0] != settings:
            self._latest = settings, keras.saving.load_model(self.files(settings))
        return self._latest[1]

    def untrained(self, settings):
        """The network before its first step."""
        method = METHODS[settings["method"]]
        train = self.division.train
        if method.reads == methods.VELOCITIES:
            return _embedding(_eye_network(_parts(train, settings), settings))
        return methods.encoder(method, read_by(method, train), settings)


def read_by(method, recordings):
    """What a method takes of recordings, a list of arrays."""
    return getattr(recordings, method.reads)


def embedded(method, model, recordings):
    """Embeddings of recordings, one each."""
    return inference.embed(model, read_by(method, recordings), progress=False)


def between(method, model, recordings):
    """Distances between all recordings, shape `(recordings, recordings)`."""
    z = embedded(method, model, recordings)
    return inference.distance(method.distance, z, z)


def _train(method, recordings, settings, folder):
    signals = read_by(method, recordings)
    model = methods.encoder(method, signals, settings)
    batches = _batches(signals, recordings.subjects, settings)
    classes = len(batches.class_names)
    trained, loss = methods.trained_by(method, model, classes, settings["scale"])
    fitted = _fit(trained, batches, settings, folder, loss)
    return without_optimizer(model), fitted


def _train_by_parts(method, recordings, settings, folder):
    """The two parts first, each by itself, then what joins them (Jaeger2019)."""
    batches = _batches(read_by(method, recordings), recordings.subjects, settings)
    loss = keras.losses.SparseCategoricalCrossentropy()
    parts = _parts(recordings, settings)
    for part in parts:
        _fit(part, batches, settings, folder / part.name, loss)
    network = _eye_network(parts, settings)
    fitted = _fit(network, batches, settings, folder / network.name, loss)
    bare = _embedding(_eye_network(_parts(recordings, settings), settings))  # never compiled
    bare.set_weights(_embedding(network).get_weights())
    return bare, fitted


def _parts(recordings, settings):
    keras.utils.set_random_seed(settings["seed"])
    velocities = recordings.velocities
    shape = len(velocities[0]), len(recordings.names)
    narrower = {"narrower": settings["narrower"]}
    slow, fast = (models.eye_velocity_part(kind, *shape, **narrower) for kind in ("slow", "fast"))
    seen = fast_velocities(keras.ops.convert_to_tensor(np.stack(velocities)))
    fast.get_layer("standardize").adapt(keras.ops.convert_to_numpy(seen))
    return slow, fast


def _eye_network(parts, settings):
    keras.utils.set_random_seed(settings["seed"])
    return models.eye_velocity_network(*parts, narrower=settings["narrower"])


def _embedding(network):
    return keras.Model(network.input, network.get_layer("embedding").output, name="embedding")


def _batches(signals, subjects, settings):
    shortest = min(map(len, signals))
    is_cut = METHODS[settings["method"]].reads != methods.VELOCITIES and settings["length"]
    return NPairSampler(
        signals,
        subjects,
        pairs=min(settings["pairs"], len(set(subjects.tolist()))),
        length=min(settings["length"], shortest) if is_cut else shortest,
        steps=min(STEPS_PER_EPOCH, settings["steps"]),
        seed=settings["seed"],
    )


def _fit(model, batches, settings, folder, loss):
    rate, steps = settings["learning_rate"], settings["steps"]
    if settings["schedule"] == CONSTANT:
        optimization = ConstantRate(rate)
    else:
        optimization = Optimization(rate, warm_up=min(WARM_UP, steps // 4))
    return fit(
        model,
        batches,
        steps=steps,
        optimization=optimization,
        folder=folder,
        resume=True,
        loss=loss,
    )
