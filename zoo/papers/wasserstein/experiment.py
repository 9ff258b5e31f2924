"""Compares methods in three stages: chooses settings, compares methods, and evaluates
divergences.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_dml import inference
from keras_dml.training import Runs
from zoo.papers.wasserstein import measurements, methods
from zoo.papers.wasserstein.methods import KNOTS, METHODS, QP_WL
from zoo.papers.wasserstein.recordings import Division
from zoo.papers.wasserstein.settings import Settings
from zoo.papers.wasserstein.training import Trainings, distances_between, embed

VERSION = 1  # of the runs; another version does not read the files of older runs
NO_NETWORK, UNTRAINED = "No network", "Untrained"


@dataclasses.dataclass(frozen=True)
class Choice:
    """Best settings of a method on the validation people.

    Attributes:
        settings: Settings of the best run.
        validation: Area under the ROC curve over all pairs of recordings of the validation people.
        candidates: Number of candidate settings.
    """

    settings: dict[str, Any]
    validation: float
    candidates: int


class Experiment:
    """Comparison of methods as in Abdelwahab2019.

    Args:
        division: `Division`.
        runs: `keras_dml.training.Runs`, which stores results and networks.
        settings: `Settings`.

    Raises:
        SettingError: If the settings name a method that cannot be run on the recordings.
    """

    def __init__(self, division: Division, runs: Runs, settings: Settings):
        self.division, self.runs, self.settings = division, runs, settings
        self.names = methods.selected_methods(division.test, settings.methods)
        self.digest = "-".join(part.digest for part in vars(division).values())
        self.trainings = Trainings(
            division, lambda settings: runs.path(settings).with_suffix(".keras")
        )

    def choose(self) -> dict[str, Choice]:
        """Chooses the settings of each method from its grid by the figures on the validation
        people.

        The best run is used again in the comparison, as the run of the first seed.

        Returns:
            Dictionary from methods to `Choice`.
        """
        grids = {name: self.grid(name) for name in self.names}
        plan = [settings for grid in grids.values() for settings in grid]
        self.runs.make(plan, self.trainings.run, "1/3 choose settings, trainings")
        return {name: self._best(grid) for name, grid in grids.items()}

    def compare(self, choices: Mapping[str, Choice]) -> dict[str, list[dict[str, Any]]]:
        """Trains every method with its chosen settings for every seed, and tests the networks.

        Args:
            choices: Output of `choose`.

        Returns:
            Dictionary from methods to lists with one dictionary per seed. The methods without
            training are first. Each dictionary contains `figures` and `scores`, see
            `measurements.measure`. For the first seed, the dictionary also contains `after`, see
            `measurements.drawing_data`. If the method is trained, it also contains `before`.
        """
        trainings = {
            name: [{**choices[name].settings, "seed": seed} for seed in range(self.settings.seeds)]
            for name in self.names
        }
        plan = [settings for runs in trainings.values() for settings in runs]
        self.runs.make(plan, self.trainings.run, "2/3 compare methods, trainings")
        tests = {NO_NETWORK: [self._test_settings(NO_NETWORK, None)]}
        tests[UNTRAINED] = [
            self._test_settings(UNTRAINED, training) for training in trainings.get(QP_WL, ())
        ]
        for name, runs in trainings.items():
            tests[name] = [self._test_settings(name, training) for training in runs]
        plan = [settings for runs in tests.values() for settings in runs]
        results = iter(self.runs.make(plan, self._test, "2/3 compare methods, tests"))
        return {name: [next(results) for _ in runs] for name, runs in tests.items() if runs}

    def compare_divergences(self, choices: Mapping[str, Choice]) -> list[dict[str, Any]]:
        """Compares embeddings of QP-WL by divergences. According to the paper, these divergences
        are worse than the Wasserstein distance.

        Args:
            choices: Output of `choose`.

        Returns:
            A dictionary for each seed, see `measurements.compare_divergences`.
        """
        compared = [self.settings.divergence_people, self.settings.divergence_recordings]
        plan = [
            {
                **self._test_settings("divergences", {**choices[QP_WL].settings, "seed": seed}),
                "compared": compared,
            }
            for seed in range(self.settings.seeds)
        ]
        return self.runs.make(plan, self._measure_divergences, "3/3 try divergences, runs")

    def grid(self, name: str) -> list[dict[str, Any]]:
        """Returns the candidate settings with which a method is trained."""
        method = METHODS[name]
        penalties = self.settings.slope_l2 if method.aggregation else (0.0,)
        scales = self.settings.loss_scales or method.scales
        if method.loss == "softmax":
            scales = (1.0,)
        return [
            self._training_settings(name, learning_rate=rate, slope_l2=penalty, scale=scale)
            for rate in self.settings.learning_rates
            for penalty in penalties
            for scale in scales
        ]

    def _training_settings(self, name, **values):
        settings = self.settings
        # The name of a run's file contains a digest of these keys, so the default of 16 knots adds
        # no key.
        knots = {} if settings.knots == KNOTS else {"knots": settings.knots}
        return {
            "name": f"train_{_file_name(name)}",
            "version": VERSION,
            "recordings": self.digest,
            "method": name,
            "seed": 0,
            "steps": settings.steps,
            "pairs": settings.pairs,
            "length": settings.length,
            "schedule": settings.schedule,
            "size": settings.size,
            "halvings": None,
            "narrower": settings.width_divisor,
            **knots,
            **values,
        }

    def _test_settings(self, name, training):
        seed = 0 if training is None else training["seed"]
        return {
            "name": f"test_{_file_name(name)}",
            "version": VERSION,
            "recordings": self.digest,
            "method": name,
            "training": training,
            "looked": seed == 0,
        }

    def _test(self, settings):
        name, test = settings["method"], self.division.test
        if name == NO_NETWORK:
            model = methods.log_euclidean(self.division.train.signals)
            z = inference.embed(model, test.signals, progress=False)
            distances = inference.distance(model, z, z)
            result = measurements.measure(distances, test)
            return {**result, "after": measurements.drawing_data(distances, distances, test)}
        training = settings["training"]
        method = METHODS[training["method"]]
        network = self.trainings.untrained if name == UNTRAINED else self.trainings.network
        distances = distances_between(method, network(training), test)
        result = measurements.measure(distances, test)
        if settings["looked"]:
            lengths = method.lengths(distances)
            result["after"] = measurements.drawing_data(distances, lengths, test)
            if name != UNTRAINED:
                before = distances_between(method, self.trainings.untrained(training), test)
                lengths = method.lengths(before)
                result["before"] = measurements.drawing_data(before, lengths, test)
        return result

    def _measure_divergences(self, settings):
        training = settings["training"]
        method, test = METHODS[training["method"]], self.division.test
        rows = measurements.first_recordings(test, *settings["compared"])
        part = test.select(np.isin(np.arange(len(test)), rows))
        z = embed(method, self.trainings.network(training), part)
        return measurements.compare_divergences(z, method.distance, part)

    def _best(self, grid):
        candidates = [(self.runs.find(settings)["validation"], settings) for settings in grid]
        validation, settings = max(candidates, key=lambda pair: pair[0])
        return Choice(settings, validation, len(grid))


def _file_name(method):
    """Converts the name of a method to letters that every file system accepts."""
    return re.sub("[^a-z0-9]+", "_", method.lower().replace("ä", "ae")).strip("_")
