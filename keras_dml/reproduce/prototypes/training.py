"""Networks of the table: each is trained once and kept in a file."""

import shutil

import numpy as np

from keras_dml._backend import keras
from keras_dml._files import staged
from keras_dml.reproduce.prototypes.methods import UNDEFENDED, defended, network
from keras_dml.training import Optimization, fit

ARCHITECTURE = ("network", "width", "seed")  # settings of a network
WARM_UP = 200  # steps, at most a quarter of all


class Batches(keras.utils.PyDataset):
    """All digits in batches, in another order each epoch.

    Args:
        digits: `Digits`.
        size: Digits of a batch; those left over in an epoch are not shown.
        seed: Seed of the orders.
    """

    def __init__(self, digits, size, seed):
        super().__init__()
        self.digits, self.size, self.seed, self.epoch = digits, size, seed, 0

    @property
    def epoch(self):
        """The epoch whose batches are shown; `fit` ends one before its first."""
        return self._epoch

    @epoch.setter
    def epoch(self, value):
        self._epoch = value
        order = np.random.default_rng([self.seed, value])
        self._rows = order.permutation(len(self.digits.x))

    def __len__(self):
        return len(self.digits.x) // self.size

    def __getitem__(self, index):
        rows = self._rows[index * self.size : (index + 1) * self.size]
        return self.digits.x[rows], self.digits.y[rows]

    def on_epoch_end(self):
        self.epoch += 1


class Trainings:
    """Networks of the table.

    Args:
        digits: `Digits`.
        files: Function of settings that gives the path of a trained network; the checkpoint of its
            training lies in a folder beside it.
    """

    def __init__(self, digits, files):
        self.digits, self.files = digits, files
        self._latest = None, None  # settings and network

    def run(self, settings):
        """Trains a network, from its checkpoint if there is one, and keeps it.

        Args:
            settings: Dict of `training`, `network`, `epochs`, `batch`, `learning_rate`, `width`,
                `seed`, `precision`, `epsilon`, `attack_steps`, `ramp_epochs`.

        Returns:
            List of the loss and metrics of each epoch, dicts.
        """
        batches = Batches(self.digits, settings["batch"], settings["seed"])
        model = network(*(settings[name] for name in (*ARCHITECTURE, "precision")))
        if settings["training"] != UNDEFENDED:
            seed = settings["seed"]
            model = defended(model, settings["training"], settings, len(batches), seed)
        steps = len(batches) * settings["epochs"]
        optimization = Optimization(settings["learning_rate"], warm_up=min(WARM_UP, steps // 4))
        folder = self.files(settings).with_suffix("")
        fitted = fit(
            model, batches, steps=steps, optimization=optimization, folder=folder, resume=True
        )
        with staged(self.files(settings)) as candidate:
            model.save(candidate)
        shutil.rmtree(folder)
        self._latest = settings, model
        return fitted.history

    def network(self, settings):
        """The network as it was trained."""
        if self._latest[0] != settings:
            self._latest = settings, keras.saving.load_model(self.files(settings))
        return self._latest[1]

    def classifier(self, settings):
        """The trained `PrototypicalClassifier`, in float32 under any policy of its training."""
        model = self.network(settings)
        trained = model if settings["training"] == UNDEFENDED else model.classifier
        plain = network(*(settings[name] for name in ARCHITECTURE))
        plain.set_weights(trained.get_weights())
        return plain
