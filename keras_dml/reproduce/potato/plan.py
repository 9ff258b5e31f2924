"""What is run, in three stages: settings chosen, losses compared, one constant at a time varied."""

import dataclasses
import json

from keras_dml.reproduce.potato.clips import partner
from keras_dml.reproduce.potato.methods import METHODS, RPL
from keras_dml.reproduce.potato.training import Trainer, by_person, spread_by_person, train

VERSION = 1  # of what a run does; another one leaves the files of older runs alone
SIZES = (93, 80, 40, 20)  # the network of Kim2020 for HDM05
PER_CLASS = 5  # clips of a class in a batch: what the smallest class leaves without two actors
SAMPLES = 100  # N_I in Kim2020, of which a class here has some 16
NO_NETWORK, UNTRAINED = "No network", "Untrained"
REFERENCES = (NO_NETWORK, UNTRAINED)


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much is run.

    Attributes:
        seeds: Starts of every network that is tested.
        people: Number of people held out in turn; None for all.
        seen: Largest number of matrices a network is trained on, repeats counted.
        stops: Number of measurements on the way, while settings are chosen.
        learning_rates: Candidates of Adam's learning rate.
        batch_classes: Classes in a batch, in the ablation; the largest is that of all other runs.
        weights: Weights of the negatives (lambda in Kim2020), in the ablation.
        samples: Clips of a class that potatoes are calibrated by (N_I in Kim2020), in the ablation.
    """

    seeds: int
    people: int | None
    seen: int
    stops: int
    learning_rates: tuple[float, ...]
    batch_classes: tuple[int, ...]
    weights: tuple[float, ...]
    samples: tuple[int, ...]


SCALES = {
    "smoke": Scale(
        seeds=1,
        people=2,
        seen=330,
        stops=2,
        learning_rates=(3e-3,),
        batch_classes=(4, 11),
        weights=(0.1, 1.0),
        samples=(2, SAMPLES),
    ),
    "full": Scale(
        seeds=5,
        people=None,
        seen=5500,
        stops=4,
        learning_rates=(1e-3, 3e-3, 1e-2),
        batch_classes=(2, 4, 8, 11),
        weights=(0.1, 0.3, 0.6, 1.0),
        samples=(2, 4, 8, SAMPLES),
    ),
}


@dataclasses.dataclass(frozen=True)
class Choice:
    """The settings that were best on another person.

    Attributes:
        constants: Constants of the loss.
        learning_rate: Learning rate of Adam.
        seen: Matrices trained on, the stop at which the figures were best.
        person: Person on whom they were chosen.
        figures: Figures on that person.
    """

    constants: dict
    learning_rate: float
    seen: int
    person: str
    figures: dict


class Experiment:
    """The comparison of Kim2020 on some clips.

    Args:
        clips: `Clips`.
        runs: `Runs`, where results are kept.
        scale: `Scale`.
        sizes: Same as in `keras_dml.models.spdnet`.
        methods: Names of `METHODS`; all of them unless said otherwise.
    """

    def __init__(self, clips, runs, scale, sizes=SIZES, methods=tuple(METHODS)):
        self.clips, self.runs, self.scale = clips, runs, scale
        self.sizes, self.methods = tuple(sizes), tuple(methods)
        self.batch_classes = min(scale.batch_classes[-1], len(clips.classes))
        self._trainers = {}

    @property
    def people(self):
        """Those who are held out in turn: all, or the first and those who choose for them."""
        names, count = self.clips.names, self.scale.people
        both = [one for name in names for one in (name, partner(names, name))]
        return sorted(list(dict.fromkeys(both))[:count])

    def choose(self):
        """The best point of each loss's grid, by figures on another person, the partner.

        Neither of the two is trained on, and the best is that of the highest R@1, of these that of
        the highest MAP@R. How long to train is chosen with it, at one of the stops.

        Returns:
            Dict of `Choice` by method and person.
        """
        plan = {}
        for method in self.methods:
            for person in self.people:
                pair = sorted((person, partner(self.clips.names, person)))
                plan[method, person] = [
                    self._settings(method, constants, rate, held_out=pair, stops=self.scale.stops)
                    for constants in METHODS[method].constants
                    for rate in self.scale.learning_rates
                ]
        grids = [settings for grid in plan.values() for settings in grid]
        self.runs.make(grids, self._run, "1/3 settings are chosen, runs")
        return {
            key: self._best(grid, partner(self.clips.names, key[1])) for key, grid in plan.items()
        }

    def compare(self, choices):
        """Every loss by its own settings, on every person and from every seed.

        Args:
            choices: Output of `choose`.

        Returns:
            Rows of figures, a dict each; rows of distances to the classes' centers, a dict each.
        """
        plan = [
            (method, person, self._settings_for(method, person, seed, choices))
            for method in (*REFERENCES, *self.methods)
            for person in self.people
            for seed in range(1 if method == NO_NETWORK else self.scale.seeds)
        ]
        results = self.runs.make(
            [one for *_, one in plan], self._run, "2/3 losses are compared, runs"
        )
        rows, spreads = [], []
        for (method, person, settings), result in zip(plan, results, strict=True):
            rows += _rows(result, person, method=method, seed=settings["seed"])
            if "spread" in result:
                spreads.append({"method": method, "person": person, **result["spread"][person]})
        return rows, spreads

    def ablate(self, choices):
        """RPL with one thing changed at a time: batch size, weight of the negatives, calibration.

        Args:
            choices: Output of `choose`.

        Returns:
            Rows of figures by what is changed: `"batch_size"`, `"weight"`, `"samples"`; a row of
            the last is a stop on the way.
        """
        classes = sorted(
            {min(count, len(self.clips.classes)) for count in self.scale.batch_classes}
        )
        whole = {"seen": self.scale.seen, "stops": self.scale.stops, "spread": False}
        varied = {
            "batch_size": {count * PER_CLASS: {"batch_classes": count} for count in classes},
            "weight": {value: {"weight": value} for value in self.scale.weights},
            "samples": {count: {"samples": count, **whole} for count in self.scale.samples},
        }
        plan = [
            (what, value, person, self._settings_for(RPL, person, seed, choices, **changed))
            for what, values in varied.items()
            for value, changed in values.items()
            for person in self.people
            for seed in range(self.scale.seeds)
        ]
        results = self.runs.make([one for *_, one in plan], self._run, "3/3 RPL is varied, runs")
        rows = {what: [] for what in varied}
        for (what, value, person, settings), result in zip(plan, results, strict=True):
            rows[what] += _rows(result, person, value=value, seed=settings["seed"])
        return rows

    def _settings(self, method, constants, learning_rate, **changed):
        return {
            "name": method.lower().replace(" ", "_"),
            "version": VERSION,
            "clips": self.clips.digest,
            "sizes": list(self.sizes),
            "method": method,
            "constants": constants,
            "learning_rate": learning_rate,
            "seed": 0,
            "seen": self.scale.seen,
            "stops": 1,
            "batch_classes": self.batch_classes,
            "per_class": PER_CLASS,
            "samples": SAMPLES,
            "spread": False,
            **changed,
        }

    def _settings_for(self, method, person, seed, choices, weight=None, **changed):
        """Of a run that tests a loss, or a reference, on a person."""
        common = {"held_out": [person], "seed": seed, "spread": seed == 0, **changed}
        if method in REFERENCES:
            return self._settings(method, {}, 0.0, **{**common, "seen": 0})
        choice = choices[method, person]
        constants = choice.constants if weight is None else {**choice.constants, "weight": weight}
        return self._settings(
            method, constants, choice.learning_rate, **{"seen": choice.seen, **common}
        )

    def _run(self, settings):
        if settings["method"] in REFERENCES:
            return self._reference(settings)
        return train(self._trainer(settings), self.clips, settings)

    def _reference(self, settings):
        matrices, held_out = self.clips.matrices, settings["held_out"]
        if settings["method"] == UNTRAINED:
            trainer = self._trainer({**settings, "method": RPL, "constants": {}})
            trainer.restart(settings["seed"], 0.0)
            matrices = trainer.embed(matrices.astype("float32"))
        figures = by_person(matrices, self.clips, held_out, riemannian=False)
        result = {"history": [{"seen": 0, "loss": None, "figures": figures}]}
        if settings["spread"] and settings["method"] == UNTRAINED:
            result["spread"] = spread_by_person(matrices, self.clips, held_out)
        return result

    def _trainer(self, settings):
        """One for all runs that compile to the same."""
        key = (settings["method"], json.dumps(settings["constants"]), settings["batch_classes"])
        if key not in self._trainers:
            self._trainers[key] = Trainer(
                settings["method"], settings["constants"], self.sizes, len(self.clips.classes)
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


def _rows(result, person, **named):
    return [
        {
            **named,
            "person": person,
            "seen": stop["seen"],
            "loss": stop["loss"],
            **stop["figures"][person],
        }
        for stop in result["history"]
    ]
