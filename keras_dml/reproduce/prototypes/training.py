"""Networks trained epoch by epoch, each kept in a file, so that a stopped training goes on."""

import numpy as np

from keras_dml._backend import keras
from keras_dml._files import staged
from keras_dml.reproduce.prototypes.methods import UNDEFENDED, defended, network

FIRST_RATE, LAST_SHARE, WARMUP_STEPS = 1e-4, 0.01, 200  # of the learning rate's cosine


class Trainings:
    """Networks of the table while they are trained.

    Args:
        digits: `Digits`.
        files: Function of settings that gives the path of an epoch's network.
    """

    def __init__(self, digits, files):
        self.digits, self.files = digits, files
        self._latest = None, None  # settings of an epoch, and its network

    def run(self, settings):
        """Trains one epoch and keeps its network.

        Args:
            settings: Dict of `training`, `epoch` from 1, `epochs`, `batch`, `learning_rate`,
                `width`, `seed`, `precision`, `epsilon`, `attack_steps`, `ramp_epochs`.

        Returns:
            Dict of what `fit` tells of the epoch.
        """
        before = {**settings, "epoch": settings["epoch"] - 1}
        model = self.network(before) if before["epoch"] else self._new(settings)
        order = np.random.default_rng([settings["seed"], settings["epoch"]])
        rows = order.permutation(len(self.digits.x))
        rows = rows[: len(rows) // settings["batch"] * settings["batch"]]
        told = model.fit(
            self.digits.x[rows],
            self.digits.y[rows],
            batch_size=settings["batch"],
            shuffle=False,
            verbose=0,
        ).history
        self._keep(model, settings)
        if before["epoch"] > 1:  # the epoch before is kept until the next one has begun
            self.files({**before, "epoch": before["epoch"] - 1}).unlink(missing_ok=True)
        return {name: values[-1] for name, values in told.items()}

    def network(self, settings):
        """The network after an epoch, as it is trained."""
        if self._latest[0] != settings:
            self._latest = settings, keras.saving.load_model(self.files(settings))
        return self._latest[1]

    def classifier(self, settings):
        """The `PrototypicalClassifier` after an epoch, in float32 however it was trained."""
        model = self.network(settings)
        trained = model if settings["training"] == UNDEFENDED else model.classifier
        plain = network(settings["width"], settings["seed"])
        plain.set_weights(trained.get_weights())
        return plain

    def _new(self, settings):
        model = network(settings["width"], settings["seed"], settings["precision"])
        steps = len(self.digits.x) // settings["batch"]
        if settings["training"] != UNDEFENDED:
            model = defended(model, settings["training"], settings, steps, settings["seed"])
        total = steps * settings["epochs"]
        warmup = min(WARMUP_STEPS, total // 4)
        rate = keras.optimizers.schedules.CosineDecay(
            FIRST_RATE,
            total - warmup,
            alpha=LAST_SHARE,
            warmup_target=settings["learning_rate"],
            warmup_steps=warmup,
        )
        model.compile(keras.optimizers.Adam(rate), jit_compile=False)
        return model

    def _keep(self, model, settings):
        with staged(self.files(settings)) as candidate:
            model.save(candidate)
        self._latest = settings, model
