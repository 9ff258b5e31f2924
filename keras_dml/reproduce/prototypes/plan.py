"""What is run, in two stages: networks trained, heads attacked."""

import dataclasses

from keras_dml.evaluation import attacks, robustness
from keras_dml.reproduce.prototypes.digits import digest
from keras_dml.reproduce.prototypes.methods import FLOAT32, ROWS
from keras_dml.reproduce.prototypes.training import Trainings

VERSION = 5  # of what a run does; another one leaves the files of older runs alone
EPSILON = 0.3  # Monteiro2020, MNIST
STEP_SIZE = 0.01  # of the attacks that measure


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much is run.

    Attributes:
        train: Number of images to train on; None for all.
        test: Number of images to attack; None for all.
        epochs: Epochs of each training.
        attack_steps: Steps of the attack in training.
        width: Filters of the network's first convolution.
        short, long: Steps of the two attacks by projected gradients, and of APGD the longer.
        restarts: Restarts of APGD on the margin.
        targets: Targets of the targeted APGD.
        queries: Queries of the search without gradients.
        part: Images attacked in one run.
        seeds: Number of trainings of each kind.
    """

    train: int | None
    test: int | None
    epochs: int
    attack_steps: int
    width: int
    short: int
    long: int
    restarts: int
    targets: int
    queries: int
    part: int
    seeds: int


SCALES = {
    "smoke": Scale(
        train=2560,
        test=128,
        epochs=2,
        attack_steps=3,
        width=4,
        short=5,
        long=10,
        restarts=2,
        targets=2,
        queries=20,
        part=128,
        seeds=1,
    ),
    "full": Scale(
        train=None,
        test=2000,
        epochs=6,
        attack_steps=10,
        width=16,
        short=40,
        long=100,
        restarts=5,
        targets=9,
        queries=5000,
        part=1000,
        seeds=3,
    ),
}


class Experiment:
    """Table 1 on some digits.

    Args:
        digits: `Digits`.
        runs: `Runs`, where results and networks are kept.
        scale: `Scale`.
        rows: Names of `ROWS`; all of them unless said otherwise.
        precision: Keras's policy of the trainings; attacks are on float32 in any.
    """

    def __init__(self, digits, runs, scale, rows=tuple(ROWS), precision=FLOAT32):
        self.digits, self.runs, self.scale, self.rows = digits, runs, scale, tuple(rows)
        self.precision = precision
        self.trainings = Trainings(
            digits, lambda settings: runs.path(settings).with_suffix(".keras")
        )

    @property
    def attacks(self):
        """The attacks by their columns in the table."""
        scale = self.scale
        weak = attacks.protocol_paper(EPSILON, (scale.short, scale.long))
        return {
            "fgsm": attacks.FGSM(EPSILON),
            "short": attacks.PGD(EPSILON, scale.short, STEP_SIZE),
            "long": attacks.PGD(EPSILON, scale.long, STEP_SIZE),
            "apgd": attacks.APGD(EPSILON, scale.long),
            "margin": attacks.APGD(EPSILON, scale.long, scale.restarts, loss="margin"),
            "dlr": attacks.APGD(EPSILON, scale.long, loss="dlr"),
            "targeted": attacks.TargetedAPGD(EPSILON, scale.long, scale.targets),
            "transfer": attacks.APGD(EPSILON, scale.long, loss="margin", source="cosine"),
            "square": attacks.Square(EPSILON, scale.queries),
            **dict(zip(("weak_fgsm", "weak_short", "weak_long"), weak, strict=True)),
        }

    def train(self):
        """All networks that the rows need, the same recipe for all.

        Returns:
            Loss and metrics of each epoch, a dict each.
        """
        needed = dict.fromkeys((ROWS[name].training, ROWS[name].network) for name in self.rows)
        plan = [self._settings(*one, seed) for one in needed for seed in range(self.scale.seeds)]
        histories = self.runs.make(plan, self.trainings.run, "1/2 networks are trained")
        told = ("training", "network", "seed")
        return [
            {**{name: settings[name] for name in told}, "epoch": number, **epoch}
            for settings, history in zip(plan, histories, strict=True)
            for number, epoch in enumerate(history, start=1)
        ]

    def attack(self):
        """Every row under every attack.

        Returns:
            Dict by row of a list with a dict a seed: `count`; `clean` and `worst`, how many are
            right; and of each attack, by its column, the same; `not_finite`, entries of gradients.
        """
        starts = range(0, len(self.digits.x_test), self.scale.part)
        seeds = range(self.scale.seeds)
        keys = [(name, seed, start) for name in self.rows for seed in seeds for start in starts]
        plan = [self._attacked(*key) for key in keys]
        results = self.runs.make(plan, self._measure, "2/2 heads are attacked, runs")
        sums = {name: [{} for _ in seeds] for name in self.rows}
        for (name, seed, _), result in zip(keys, results, strict=True):
            row = sums[name][seed]
            for column, value in result.items():
                row[column] = row.get(column, 0) + value
        return sums

    def _settings(self, training, network, seed):
        return {
            "name": f"train_{training}_{network}_{seed}",
            "version": VERSION,
            "digits": self.digits.digest,
            "training": training,
            "network": network,
            "epochs": self.scale.epochs,
            "batch": 128,
            "learning_rate": 1e-3,
            "width": self.scale.width,
            "seed": seed,
            "precision": self.precision,
            "epsilon": EPSILON,
            "attack_steps": self.scale.attack_steps,
            "ramp_epochs": 1.5,
        }

    def _attacked(self, name, seed, start):
        training, head, network = ROWS[name]
        return {
            "name": f"attack_{training}_{network}_{seed}_{head}",
            "training": self._settings(training, network, seed),
            "head": head,
            "start": start,
            "part": self.scale.part,
            "digits": digest(*self._part(start)),
            "attacks": {column: repr(attack) for column, attack in self.attacks.items()},
        }

    def _part(self, start):
        part = slice(start, start + self.scale.part)
        return self.digits.x_test[part], self.digits.y_test[part]

    def _measure(self, settings):
        classifier = self.trainings.classifier(settings["training"])
        x, y = self._part(settings["start"])
        found = robustness(
            classifier, x, y, self.attacks.values(), head=settings["head"], progress=False
        )
        counts = {
            "count": len(x),
            "clean": int(found.correct.sum()),
            "worst": int(found.robust.sum()),
        }
        for column, attack in self.attacks.items():
            counts[column] = int(found.attacks[attack.name].robust.sum())
        counts["not_finite"] = sum(one.not_finite for one in found.attacks.values())
        return counts
