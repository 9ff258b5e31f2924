"""Compares losses in three stages: chooses settings, compares the losses, and varies one constant
at a time.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from keras_dml.training import Runs
from zoo.papers.potato.data import Clips, partner
from zoo.papers.potato.methods import METHODS, RPL
from zoo.papers.potato.settings import ALL_CLIPS, Settings
from zoo.papers.potato.training import Trainer, measure_people, spread_of_people, train
from zoo.papers.settings import SettingError

VERSION = 1  # of the runs; another version does not read the files of older runs
PER_CLASS = 5  # clips of a class in a batch; the smallest class has as many without two actors
NO_NETWORK, UNTRAINED = "No network", "Untrained"
REFERENCES = (NO_NETWORK, UNTRAINED)

Choices = Mapping[tuple[str, str], "Choice"]


@dataclasses.dataclass(frozen=True)
class Choice:
    """Settings of a loss that were chosen on another person.

    Attributes:
        constants: Constants of the loss.
        learning_rate: Learning rate of Adam.
        seen: Number of matrices that the training had used when the figures were best.
        person: Person on whom the settings were chosen.
        figures: Figures that were measured on this person with the chosen settings.
    """

    constants: dict[str, Any]
    learning_rate: float
    seen: int
    person: str
    figures: dict[str, float]


class Experiment:
    """Comparison of losses as in Kim2020.

    Args:
        clips: `Clips`.
        runs: `keras_dml.training.Runs`, which stores results.
        settings: `Settings`.

    Raises:
        SettingError: If the settings name an unknown loss.
    """

    def __init__(self, clips: Clips, runs: Runs, settings: Settings):
        self.clips, self.runs, self.settings = clips, runs, settings
        for name in settings.methods or ():
            if name not in METHODS:
                names = ", ".join(map(repr, METHODS))
                raise SettingError("methods", f"Received {name!r}. Give one of {names}.")
        selected = settings.methods or METHODS
        self.methods = tuple(name for name in METHODS if name == RPL or name in selected)
        self.batch_classes = min(settings.batch_classes[-1], len(clips.classes))
        self._trainers = {}

    @property
    def people(self) -> list[str]:
        """People who are held out in turn.

        The settings may limit the number of people. In this case, the first people and their
        partners are selected. The settings for a person are chosen on the person's partner.
        """
        names, count = self.clips.names, self.settings.people
        pairs = [person for name in names for person in (name, partner(names, name))]
        return sorted(list(dict.fromkeys(pairs))[:count])

    def choose(self) -> dict[tuple[str, str], Choice]:
        """Chooses for each loss and person the settings of a grid that are best on the person's
        partner.

        The networks are trained on neither the person nor the partner. The best settings have the
        highest R@1. If several settings have the same R@1, the highest MAP@R decides. The length of
        the training is one of the settings.

        Returns:
            Dictionary from pairs `(method, person)` to `Choice`.
        """
        grids = {}
        for method in self.methods:
            for person in self.people:
                pair = sorted((person, partner(self.clips.names, person)))
                grids[method, person] = [
                    self._run_settings(
                        method, constants, rate, held_out=pair, stops=self.settings.stops
                    )
                    for constants in METHODS[method].constants
                    for rate in self.settings.learning_rates
                ]
        plan = [settings for grid in grids.values() for settings in grid]
        self.runs.make(plan, self._run, "1/3 choose settings, runs")
        return {
            key: self._best(grid, partner(self.clips.names, key[1])) for key, grid in grids.items()
        }

    def compare(self, choices: Choices) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Tests every loss with its chosen settings on every person and with every seed.

        Args:
            choices: Output of `choose`.

        Returns:
            A list of rows with figures, and a list of rows with distances to the centers of the
            classes. Each row is a dictionary.
        """
        plan = [
            (method, person, self._test_settings(method, person, seed, choices))
            for method in (*REFERENCES, *self.methods)
            for person in self.people
            for seed in range(1 if method == NO_NETWORK else self.settings.seeds)
        ]
        results = self.runs.make(
            [settings for *_, settings in plan], self._run, "2/3 compare losses, runs"
        )
        rows, spreads = [], []
        for (method, person, settings), result in zip(plan, results, strict=True):
            rows += _rows(result, person, method=method, seed=settings["seed"])
            if "spread" in result:
                spreads.append({"method": method, "person": person, **result["spread"][person]})
        return rows, spreads

    def ablate(self, choices: Choices) -> dict[str, list[dict[str, Any]]]:
        """Varies one constant of RPL at a time: the batch size, the weight of the negatives, and
        the number of clips for the calibration.

        Args:
            choices: Output of `choose`.

        Returns:
            Dictionary from the name of a constant to rows with figures. The names are
            `"batch_size"`, `"weight"` and `"samples"`. Each value of `"samples"` has one row for
            each measurement during the training.
        """
        classes = sorted(
            {min(count, len(self.clips.classes)) for count in self.settings.batch_classes}
        )
        whole = {
            "seen": self.settings.training_matrices,
            "stops": self.settings.stops,
            "spread": False,
        }
        changes_by_name = {
            "batch_size": {count * PER_CLASS: {"batch_classes": count} for count in classes},
            "weight": {value: {"weight": value} for value in self.settings.weights},
            "samples": {
                count: {"samples": count, **whole} for count in self.settings.calibration_clips
            },
        }
        plan = [
            (name, value, person, self._test_settings(RPL, person, seed, choices, **changes))
            for name, values in changes_by_name.items()
            for value, changes in values.items()
            for person in self.people
            for seed in range(self.settings.seeds)
        ]
        results = self.runs.make(
            [settings for *_, settings in plan], self._run, "3/3 vary RPL, runs"
        )
        rows = {name: [] for name in changes_by_name}
        for (name, value, person, settings), result in zip(plan, results, strict=True):
            rows[name] += _rows(result, person, value=value, seed=settings["seed"])
        return rows

    def _run_settings(self, method, constants, learning_rate, **changes):
        return {
            "name": method.lower().replace(" ", "_"),
            "version": VERSION,
            "clips": self.clips.digest,
            "sizes": list(self.settings.sizes),
            "method": method,
            "constants": constants,
            "learning_rate": learning_rate,
            "seed": 0,
            "seen": self.settings.training_matrices,
            "stops": 1,
            "batch_classes": self.batch_classes,
            "per_class": PER_CLASS,
            "samples": ALL_CLIPS,
            "spread": False,
            **changes,
        }

    def _test_settings(self, method, person, seed, choices, weight=None, **changes):
        """Returns the settings of a run that tests a loss or a reference on a person."""
        common = {"held_out": [person], "seed": seed, "spread": seed == 0, **changes}
        if method in REFERENCES:
            return self._run_settings(method, {}, 0.0, **{**common, "seen": 0})
        choice = choices[method, person]
        constants = choice.constants if weight is None else {**choice.constants, "weight": weight}
        return self._run_settings(
            method, constants, choice.learning_rate, **{"seen": choice.seen, **common}
        )

    def _run(self, settings):
        if settings["method"] in REFERENCES:
            return self._measure_reference(settings)
        return train(self._trainer(settings), self.clips, settings)

    def _measure_reference(self, settings):
        matrices, held_out = self.clips.matrices, settings["held_out"]
        if settings["method"] == UNTRAINED:
            trainer = self._trainer({**settings, "method": RPL, "constants": {}})
            trainer.restart(settings["seed"], 0.0)
            matrices = trainer.embed(matrices.astype("float32"))
        figures = measure_people(matrices, self.clips, held_out, riemannian=False)
        result = {"history": [{"seen": 0, "loss": None, "figures": figures}]}
        if settings["spread"] and settings["method"] == UNTRAINED:
            result["spread"] = spread_of_people(matrices, self.clips, held_out)
        return result

    def _trainer(self, settings):
        """Returns a trainer. All runs that need the same compiled functions share one trainer."""
        key = (settings["method"], json.dumps(settings["constants"]), settings["batch_classes"])
        if key not in self._trainers:
            self._trainers[key] = Trainer(
                settings["method"],
                settings["constants"],
                self.settings.sizes,
                len(self.clips.classes),
            )
        return self._trainers[key]

    def _best(self, grid, person):
        stops = [
            (stop["figures"][person], settings, stop["seen"])
            for settings in grid
            for stop in self.runs.find(settings)["history"]
        ]
        best, settings, seen = max(
            stops, key=lambda stop: (stop[0]["recall_at_1"], stop[0]["map_at_r"])
        )
        return Choice(settings["constants"], settings["learning_rate"], seen, person, best)


def _rows(result, person, **columns):
    return [
        {
            **columns,
            "person": person,
            "seen": stop["seen"],
            "loss": stop["loss"],
            **stop["figures"][person],
        }
        for stop in result["history"]
    ]
