"""What is run, in three stages: settings chosen, methods compared, divergences tried."""

import dataclasses
import re

import numpy as np

from keras_dml import inference
from keras_dml.reproduce.wasserstein import figures, methods
from keras_dml.reproduce.wasserstein.methods import METHODS, QP_WL
from keras_dml.reproduce.wasserstein.training import (
    CONSTANT,
    COSINE,
    Trainings,
    between,
    embedded,
)

VERSION = 1  # of what a run does; another one leaves the files of older runs alone
NO_NETWORK, UNTRAINED = "No network", "Untrained"
REFERENCES = (NO_NETWORK, UNTRAINED)


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much is run.

    Attributes:
        people: Number of people; None for all.
        seeds: Starts of every network that is tested.
        steps: Training steps of every network, the same for all.
        pairs: Pairs of a batch, at most the people who train.
        length: Steps of a training crop; None for whole recordings.
        size: Size of `keras_dml.models.sequence_encoder`.
        narrower: Divisor of the widths of Jäger's network.
        learning_rates: Candidates of Adam's learning rate.
        schedule: `"cosine"` with a warm-up, or `"constant"`.
        slope_l2: Candidates of the penalty on the slopes of the PReLUs.
        scaled: Whether each loss has its candidates of a scale; else all have 1.
        compared: People, and recordings of each, whose divergences are measured.
    """

    people: int | None
    seeds: int
    steps: int
    pairs: int
    length: int | None
    size: str
    narrower: int
    learning_rates: tuple[float, ...]
    schedule: str
    slope_l2: tuple[float, ...]
    scaled: bool
    compared: tuple[int, int]


SCALES = {
    "smoke": Scale(
        people=16,
        seeds=1,
        steps=8,
        pairs=6,
        length=128,
        size="edge",
        narrower=16,
        learning_rates=(3e-3,),
        schedule=COSINE,
        slope_l2=(0.0,),
        scaled=False,
        compared=(6, 6),
    ),
    "full": Scale(
        people=None,
        seeds=5,
        steps=1500,
        pairs=32,
        length=512,
        size="edge",
        narrower=4,
        learning_rates=(1e-3, 3e-3),
        schedule=COSINE,
        slope_l2=(0.0, 1e-3),
        scaled=True,
        compared=(15, 8),
    ),
    "paper": Scale(
        people=None,
        seeds=1,
        steps=50_000,
        pairs=16,
        length=None,
        size="paper",
        narrower=1,
        learning_rates=(1e-4,),
        schedule=CONSTANT,
        slope_l2=(0.0, 1e-4, 1e-3, 1e-2),
        scaled=False,
        compared=(15, 8),
    ),
}


@dataclasses.dataclass(frozen=True)
class Choice:
    """The settings that were best on the people of validation.

    Attributes:
        settings: Of the run that was best.
        validation: Area under the curve of all pairs of their recordings.
        tried: Number of candidates.
    """

    settings: dict
    validation: float
    tried: int


class Experiment:
    """The comparison of Abdelwahab2019 on some recordings.

    Args:
        division: `Division`.
        runs: `Runs`, where results and networks are kept.
        scale: `Scale`.
        names: Names of `METHODS`; those that the recordings allow unless said otherwise.
    """

    def __init__(self, division, runs, scale, names=None):
        self.division, self.runs, self.scale = division, runs, scale
        self.names = methods.names_for(division.test) if names is None else tuple(names)
        digests = [part.digest for part in vars(division).values()]
        self.digest = "-".join(digests)
        self.trainings = Trainings(
            division, lambda settings: runs.path(settings).with_suffix(".keras")
        )

    def choose(self):
        """The best point of each method's grid, by figures of the people of validation.

        Networks are not trained anew on these people: the best run is the first start of the
        comparison.

        Returns:
            Dict of `Choice` by method.
        """
        grids = {name: self._grid(name) for name in self.names}
        plan = [settings for grid in grids.values() for settings in grid]
        self.runs.make(plan, self.trainings.run, "1/3 settings are chosen, trainings")
        return {name: self._best(grid) for name, grid in grids.items()}

    def compare(self, choices):
        """Every method by its own settings from every seed, on people never trained on.

        Args:
            choices: Output of `choose`.

        Returns:
            Dict by method, first what trains nothing, of a list with a dict a seed: `figures` and
            `scores`, see `figures.measure`; that of the first also `after` and, of methods that
            train, `before`, see `figures.look`.
        """
        trained = {
            name: [{**choices[name].settings, "seed": seed} for seed in range(self.scale.seeds)]
            for name in self.names
        }
        plan = [settings for runs in trained.values() for settings in runs]
        self.runs.make(plan, self.trainings.run, "2/3 methods are compared, trainings")
        measured = {NO_NETWORK: [self._measured(NO_NETWORK, None)]}
        if QP_WL in trained:
            measured[UNTRAINED] = [self._measured(UNTRAINED, one) for one in trained[QP_WL]]
        for name, runs in trained.items():
            measured[name] = [self._measured(name, one) for one in runs]
        plan = [settings for runs in measured.values() for settings in runs]
        found = iter(self.runs.make(plan, self._measure, "2/3 methods are compared, tests"))
        return {name: [next(found) for _ in runs] for name, runs in measured.items()}

    def diverge(self, choices):
        """QP-WL's embeddings by the divergences that the paper argues against.

        Args:
            choices: Output of `choose`.

        Returns:
            List with a dict a seed, see `figures.compare_divergences`.
        """
        plan = [
            {
                **self._measured("divergences", {**choices[QP_WL].settings, "seed": seed}),
                "compared": list(self.scale.compared),
            }
            for seed in range(self.scale.seeds)
        ]
        return self.runs.make(plan, self._diverge, "3/3 divergences are tried, runs")

    def _grid(self, name):
        method, scale = METHODS[name], self.scale
        penalties = scale.slope_l2 if method.aggregation else (0.0,)
        return [
            self._settings(name, learning_rate=rate, slope_l2=penalty, scale=factor)
            for rate in scale.learning_rates
            for penalty in penalties
            for factor in (method.scales if scale.scaled else (1.0,))
        ]

    def _settings(self, name, **chosen):
        return {
            "name": f"train_{_file_name(name)}",
            "version": VERSION,
            "recordings": self.digest,
            "method": name,
            "seed": 0,
            "steps": self.scale.steps,
            "pairs": self.scale.pairs,
            "length": self.scale.length,
            "schedule": self.scale.schedule,
            "size": self.scale.size,
            "halvings": None,
            "narrower": self.scale.narrower,
            **chosen,
        }

    def _measured(self, name, training):
        seed = 0 if training is None else training["seed"]
        return {
            "name": f"test_{_file_name(name)}",
            "version": VERSION,
            "recordings": self.digest,
            "method": name,
            "training": training,
            "looked": seed == 0,
        }

    def _measure(self, settings):
        name, test = settings["method"], self.division.test
        if name == NO_NETWORK:
            model = methods.log_euclidean(self.division.train.signals)
            z = inference.embed(model, test.signals, progress=False)
            distances = inference.distance(model, z, z)
            found = figures.measure(distances, test)
            return {**found, "after": figures.look(distances, distances, test)}
        training = settings["training"]
        method = METHODS[training["method"]]
        network = self.trainings.untrained if name == UNTRAINED else self.trainings.network
        distances = between(method, network(training), test)
        found = figures.measure(distances, test)
        if settings["looked"]:
            found["after"] = figures.look(distances, method.lengths(distances), test)
            if name != UNTRAINED:
                start = between(method, self.trainings.untrained(training), test)
                found["before"] = figures.look(start, method.lengths(start), test)
        return found

    def _diverge(self, settings):
        training = settings["training"]
        method, test = METHODS[training["method"]], self.division.test
        rows = figures.first_recordings(test, *settings["compared"])
        some = test.take(np.isin(np.arange(len(test)), rows))
        z = embedded(method, self.trainings.network(training), some)
        return figures.compare_divergences(z, method.distance, some)

    def _best(self, grid):
        found = [(self.runs.find(settings)["validation"], settings) for settings in grid]
        validation, settings = max(found, key=lambda pair: pair[0])
        return Choice(settings, validation, len(grid))


def _file_name(method):
    """In letters that every file system takes."""
    return re.sub("[^a-z0-9]+", "_", method.lower().replace("ä", "ae")).strip("_")
