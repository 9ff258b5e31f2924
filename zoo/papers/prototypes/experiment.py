"""Computes Table 1 in two stages: trains networks, and attacks their heads."""

from typing import Any

from keras_dml.evaluation import attacks, robustness
from keras_dml.training import Runs
from zoo.papers.prototypes.data import Digits, digest
from zoo.papers.prototypes.methods import ROWS
from zoo.papers.prototypes.settings import Settings
from zoo.papers.prototypes.training import Trainings
from zoo.papers.settings import SettingError

VERSION = 5  # of the runs; another version does not read the files of older runs
STEP_SIZE = 0.01  # of the PGD attacks that measure
RAMP_EPOCHS = 1.5  # in which epsilon rises from 0 in adversarial training


class Experiment:
    """Trainings and attacks that Table 1 needs.

    Args:
        digits: `Digits`.
        runs: `keras_dml.training.Runs`, which stores results and networks.
        settings: `Settings`.

    Raises:
        SettingError: If the settings name an unknown row.
    """

    def __init__(self, digits: Digits, runs: Runs, settings: Settings):
        self.digits, self.runs, self.settings = digits, runs, settings
        self.rows = tuple(ROWS) if settings.rows is None else settings.rows
        for name in self.rows:
            if name not in ROWS:
                names = ", ".join(map(repr, ROWS))
                raise SettingError("rows", f"Received {name!r}. Give one of {names}.")
        self.trainings = Trainings(
            digits, lambda settings: runs.path(settings).with_suffix(".keras")
        )

    @property
    def attacks(self) -> dict[str, Any]:
        """Dictionary from columns of the table to attacks."""
        settings, epsilon = self.settings, self.settings.epsilon
        weak = attacks.protocol_paper(epsilon, (settings.short, settings.long))
        apgd_margin = attacks.APGD(epsilon, settings.long, settings.restarts, loss="margin")
        return {
            "fgsm": attacks.FGSM(epsilon),
            "short": attacks.PGD(epsilon, settings.short, STEP_SIZE),
            "long": attacks.PGD(epsilon, settings.long, STEP_SIZE),
            "apgd": attacks.APGD(epsilon, settings.long),
            "margin": apgd_margin,
            "dlr": attacks.APGD(epsilon, settings.long, loss="dlr"),
            "targeted": attacks.TargetedAPGD(epsilon, settings.long, settings.targets),
            "transfer": attacks.APGD(epsilon, settings.long, loss="margin", source="cosine"),
            "square": attacks.Square(epsilon, settings.queries),
            **dict(zip(("weak_fgsm", "weak_short", "weak_long"), weak, strict=True)),
        }

    def train(self) -> list[dict[str, Any]]:
        """Trains the networks for all rows of the table with the same recipe.

        Returns:
            List with one dictionary per training and epoch. The dictionary contains `training`,
            `network`, `seed`, the loss and the metrics.
        """
        kinds = dict.fromkeys((ROWS[name].training, ROWS[name].network) for name in self.rows)
        plan = [
            self.training_settings(*kind, seed)
            for kind in kinds
            for seed in range(self.settings.seeds)
        ]
        histories = self.runs.make(plan, self.trainings.run, "1/2 train networks")
        return [
            {
                **{name: settings[name] for name in ("training", "network", "seed")},
                "epoch": number,
                **epoch,
            }
            for settings, history in zip(plan, histories, strict=True)
            for number, epoch in enumerate(history, start=1)
        ]

    def attack(self) -> dict[str, list[dict[str, int]]]:
        """Attacks every row with every attack.

        Returns:
            Dictionary from rows to lists with one dictionary per seed. `count` is the number of
            images, and `not_finite` is the number of gradients that are not finite. The other
            entries are numbers of images that are classified correctly: `clean` without an attack,
            `worst` under all attacks, and one entry per attack, whose key is the column of the
            attack.
        """
        starts = range(0, len(self.digits.x_test), self.settings.images_per_run)
        seeds = range(self.settings.seeds)
        keys = [(name, seed, start) for name in self.rows for seed in seeds for start in starts]
        plan = [self._attack_settings(*key) for key in keys]
        results = self.runs.make(plan, self._attack, "2/2 attack heads, runs")
        sums = {name: [{} for _ in seeds] for name in self.rows}
        for (name, seed, _), result in zip(keys, results, strict=True):
            row = sums[name][seed]
            for column, value in result.items():
                row[column] = row.get(column, 0) + value
        return sums

    def training_settings(self, training: str, network: str, seed: int) -> dict[str, Any]:
        """Returns the settings with which a network is trained.

        Args:
            training: Kind of training, as in `Row.training`.
            network: Kind of network, as in `Row.network`.
            seed: Seed of weights, batches and attacks.
        """
        settings = self.settings
        return {
            "name": f"train_{training}_{network}_{seed}",
            "version": VERSION,
            "digits": self.digits.digest,
            "training": training,
            "network": network,
            "epochs": settings.epochs,
            "batch": settings.batch_size,
            "learning_rate": settings.learning_rate,
            "width": settings.width,
            "seed": seed,
            "precision": settings.precision,
            "epsilon": settings.epsilon,
            "attack_steps": settings.attack_steps,
            "ramp_epochs": RAMP_EPOCHS,
        }

    def _attack_settings(self, name, seed, start):
        training, head, network = ROWS[name]
        return {
            "name": f"attack_{training}_{network}_{seed}_{head}",
            "training": self.training_settings(training, network, seed),
            "head": head,
            "start": start,
            "part": self.settings.images_per_run,
            "digits": digest(*self._part(start)),
            "attacks": {column: repr(attack) for column, attack in self.attacks.items()},
        }

    def _part(self, start):
        """Returns the images that a run attacks, and their digits."""
        part = slice(start, start + self.settings.images_per_run)
        return self.digits.x_test[part], self.digits.y_test[part]

    def _attack(self, settings):
        """Runs attacks and counts the right answers."""
        classifier = self.trainings.classifier(settings["training"])
        x, y = self._part(settings["start"])
        result = robustness(
            classifier, x, y, self.attacks.values(), head=settings["head"], progress=False
        )
        counts = {
            "count": len(x),
            "clean": int(result.correct.sum()),
            "worst": int(result.robust.sum()),
        }
        for column, attack in self.attacks.items():
            counts[column] = int(result.attacks[attack.name].robust.sum())
        counts["not_finite"] = sum(attack.not_finite for attack in result.attacks.values())
        return counts
