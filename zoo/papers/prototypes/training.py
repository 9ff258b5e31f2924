"""Trains the networks of the table. Each network is trained once and saved in a file."""

import pathlib
import shutil
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from keras_dml._backend import keras
from keras_dml._files import staged
from keras_dml.training import Optimization, fit
from zoo.papers.prototypes.data import Digits
from zoo.papers.prototypes.methods import UNDEFENDED, network, with_defense

ARCHITECTURE = ("network", "width", "seed")  # settings of a network
WARM_UP = 200  # steps, at most a quarter of all steps


class Batches(keras.utils.PyDataset):
    """Batches that contain all digits, in a different order in each epoch.

    Args:
        digits: `Digits`.
        size: Number of digits in a batch. Digits that do not fill a batch are not used in the
            epoch.
        seed: Seed of the random order in each epoch.
    """

    def __init__(self, digits: Digits, size: int, seed: int):
        super().__init__()
        self.digits, self.size, self.seed, self.epoch = digits, size, seed, 0

    @property
    def epoch(self) -> int:
        """Number of the epoch, which determines the order of the digits. If `fit` resumes a
        training, `fit` sets this number.
        """
        return self._epoch

    @epoch.setter
    def epoch(self, value):
        self._epoch = value
        rng = np.random.default_rng([self.seed, value])
        self._rows = rng.permutation(len(self.digits.x))

    def __len__(self) -> int:
        return len(self.digits.x) // self.size

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        rows = self._rows[index * self.size : (index + 1) * self.size]
        return self.digits.x[rows], self.digits.y[rows]

    def on_epoch_end(self) -> None:
        """Increases the number of the epoch."""
        self.epoch += 1


class Trainings:
    """Trains the networks of the table, stores them in files and loads them.

    Args:
        digits: `Digits`.
        path_of: Function from settings to the path of the trained network. During the training, the
            checkpoint is in a folder that has the name of this file without the suffix.
    """

    def __init__(self, digits: Digits, path_of: Callable[[Mapping[str, Any]], pathlib.Path]):
        self.digits, self.path_of = digits, path_of
        self._latest = None, None  # settings and network

    def run(self, settings: Mapping[str, Any]) -> list[dict[str, float]]:
        """Trains a network and saves it. The training continues from a checkpoint if a checkpoint
        exists.

        Args:
            settings: Dictionary with `training`, `network`, `epochs`, `batch`, `learning_rate`,
                `width`, `seed`, `precision`, `epsilon`, `attack_steps` and `ramp_epochs`.

        Returns:
            Loss and metrics of each epoch.
        """
        batches = Batches(self.digits, settings["batch"], settings["seed"])
        model = network(*(settings[name] for name in (*ARCHITECTURE, "precision")))
        if settings["training"] != UNDEFENDED:
            seed = settings["seed"]
            model = with_defense(model, settings["training"], settings, len(batches), seed)
        steps = len(batches) * settings["epochs"]
        optimization = Optimization(settings["learning_rate"], warm_up=min(WARM_UP, steps // 4))
        folder = self.path_of(settings).with_suffix("")
        result = fit(
            model, batches, steps=steps, optimization=optimization, folder=folder, resume=True
        )
        with staged(self.path_of(settings)) as candidate:
            model.save(candidate)
        shutil.rmtree(folder)
        self._latest = settings, model
        return result.history

    def network(self, settings: Mapping[str, Any]):
        """Returns the trained model. If the training was adversarial, the model is an
        `AdversarialTraining` that wraps the classifier.
        """
        if self._latest[0] != settings:
            self._latest = settings, keras.saving.load_model(self.path_of(settings))
        return self._latest[1]

    def classifier(self, settings: Mapping[str, Any]):
        """Returns the trained `PrototypicalClassifier`. It computes in float32, even if it was
        trained with another dtype policy.
        """
        model = self.network(settings)
        trained = model if settings["training"] == UNDEFENDED else model.classifier
        classifier = network(*(settings[name] for name in ARCHITECTURE))
        classifier.set_weights(trained.get_weights())
        return classifier
