"""Measures the main result, the baselines and the thresholds of a card with the published files.

`evidence.py` in the folder of a model contains `evidence(trained) -> Evidence`. The function
`evidence` is called when a model is published, by `python -m zoo.measure`, and by the test that
compares a card with the model's files.
"""

import collections.abc
import dataclasses
import functools
import importlib
import pathlib
from collections.abc import Iterable, Mapping

from keras_dml import scoring, training, zoo
from keras_dml._backend import keras
from keras_dml.training import measure, pooled
from keras_dml.training.answers import Answers
from keras_dml.training.own import cross_validation

ZOO = pathlib.Path(__file__).resolve().parent
PAPERS = ZOO / "papers"  # models that show a method of a paper, but are not part of the zoo
FOLDS, CONTROLS = "folds", "controls"
CARRIED = (
    "The thresholds are measured with the models of the cross-validation. These models measure "
    "distances on different scales. Therefore the distances of each model are divided by its "
    "median distance between two training {unit}. For the published file, each threshold is "
    "multiplied by the median distance of this file between two training {unit}. FAR and TAR are "
    "measured in the cross-validation. Before you use a threshold, calibrate it with recordings of "
    "other {unit} than those in the training data."
)


@dataclasses.dataclass(frozen=True)
class ChosenScoring:
    """Scoring of the measurement, see `keras_dml.scoring`.

    Attributes:
        name: Name of the scoring.
        choice: How the scoring was chosen, as a sentence.
        rivals: Function that returns the results of the other scorings on the same trials, as
            `Evidence.baselines` does.
    """

    name: str
    choice: str
    rivals: collections.abc.Callable


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Measurement of a model with the baselines, thresholds and figures of its card.

    Attributes:
        measured: `keras_dml.training.measure.Measurement`, or `keras_dml.training.answers.Answers`
            of a classifier of images.
        baselines: Function that returns the results of other methods on the same trials, as a
            dictionary `{name: (what, kind, values)}`. The function is called only when a card is
            written.
        groups: Groups of similar people, such as people of the same sex. A threshold is also
            measured within each group, because the group is a known confounder, see
            `keras_dml.training.pooled.thresholds`.
        on_device: Function that measures the card's `device_thresholds`. Default: None, if the
            exported files compute the same distance as the model.
        unit: Function that returns the scale and the offset of the distances that the published
            file computes. The function is needed to convert thresholds that were measured with the
            models of a cross-validation. Default: None.
        figures: Function that returns the card's `figures`. Default: None, if the figures cannot be
            computed from the published files.
        scoring: `ChosenScoring` of the trials. Default: None, for the scoring `nearest`.
        fars: False accept rates of the thresholds.
    """

    measured: measure.Measurement | Answers
    baselines: collections.abc.Callable = dict
    groups: dict | None = None
    on_device: collections.abc.Callable | None = None
    unit: collections.abc.Callable | None = None
    figures: collections.abc.Callable | None = None
    scoring: ChosenScoring | None = None
    fars: tuple[float, ...] = pooled.FARS

    def card(self, about: dict) -> dict:
        """Computes the measured entries of the card.

        Args:
            about: Static part of the card, as in `about.json`. The list `test_subjects` is empty if
                the published file was trained on all people.
        """
        words = {"trials": pooled.TRIALS, "repeats": pooled.BLOCKS}
        card = {
            "headline": {**about.get("headline", words), **self.measured.headline},
            "baselines": self.measured.baselines(self.baselines()),
        }
        card |= self.decisions(about["data"].get("test_subjects") != [])
        if self.groups:
            card["groups"] = pooled.by_group(self.measured.trials, self.groups)
        if self.scoring is not None:
            card["scoring"] = {
                "name": self.scoring.name,
                "choice": self.scoring.choice,
                "rivals": self.measured.baselines(self.scoring.rivals()),
            }
        if self.on_device is not None:
            card["device_thresholds"] = self.on_device()
        if self.figures is not None:
            card["figures"] = self.figures()
        return card

    def decisions(self, has_unseen: bool) -> dict:
        """Computes the card's `thresholds` and `imposters`, which galleries use for decisions.

        `thresholds` and `imposters` are measured on people who were not used in training. The
        result is empty for a classifier of images.

        Args:
            has_unseen: Whether there are people who were not used to train the published file.
        """
        if isinstance(self.measured, Answers):
            return {}
        trials = self.measured.trials
        if self.unit is not None:
            unit, offset = self.unit()
            rows = pooled.carried_thresholds(trials, unit, offset, CARRIED.format(unit=trials.unit))
            return {
                "thresholds": rows,
                "imposters": pooled.imposter_statistics(trials, unit, offset),
            }
        if not has_unseen:
            return {"thresholds": []}
        rows = pooled.thresholds(trials, self.groups, self.fars)
        if self.scoring is not None:
            name = self.scoring.name
            rows = [{**row, "score": scoring.get(name).text, "scoring": name} for row in rows]
        return {"thresholds": rows, "imposters": pooled.imposter_statistics(trials)}


def unit_of(model: keras.Model, people: training.People) -> tuple[float, float]:
    """Returns the `(unit, offset)` of a published model's distances, see `Evidence.unit`.

    Args:
        model: The model.
        people: Recordings of the training people.
    """
    offset = cross_validation.distance_offset(model)

    def between(signals):
        return measure.pairwise_distances(model, signals) + offset

    return float(measure.distance_unit(between, people)), offset


class Trained:
    """Trained models whose figures are written on a card.

    Args:
        whole: The published model.
        folds: Models of a cross-validation, in the order of the folds.
        controls: Dictionary from names to models of other methods.
    """

    def __init__(
        self,
        whole: keras.Model,
        folds: Iterable[keras.Model] = (),
        controls: Mapping[str, keras.Model] | None = None,
    ) -> None:
        self.whole, self.folds, self.controls = whole, list(folds), dict(controls or {})


def save_beside(folder: pathlib.Path, kind: str, models: Mapping[str, keras.Model]) -> None:
    """Writes further models into a subfolder of the published model's folder, and removes the
    earlier models there.

    Args:
        folder: Folder of the model in the zoo.
        kind: `FOLDS` or `CONTROLS`.
        models: Dictionary `{name: model}`. The models of folds must be in the alphabetical order of
            their names.
    """
    place = folder / kind
    place.mkdir(parents=True, exist_ok=True)
    for path in place.glob("*.keras"):
        path.unlink()
    for name, model in models.items():
        training.without_optimizer(model).save(place / f"{name}.keras")


def folder(name: str) -> pathlib.Path:
    """Returns the folder of a model and its recipe, in `zoo` or in `zoo/papers`."""
    of_paper = PAPERS / name
    return of_paper if of_paper.is_dir() else ZOO / name


def module(name: str) -> str:
    """Returns the name of the package of a recipe, such as `zoo.gait_lda`."""
    return ".".join(folder(name).relative_to(ZOO.parent).parts)


def card(name: str) -> dict:
    """Reads the card of a model in `zoo` or in `zoo/papers`.

    Raises:
        ValueError: If the model does not exist, see `keras_dml.zoo.card`.
    """
    place = folder(name)
    return zoo.card(place if place.is_dir() else name)


def published(name: str) -> Trained:
    """Loads the published model, the models of its folds and its controls."""
    place = folder(name)
    folds, controls = (
        {path.stem: zoo.load(path) for path in sorted((place / kind).glob("*.keras"))}
        for kind in (FOLDS, CONTROLS)
    )
    return Trained(zoo.load(place), folds.values(), controls)


def find(name: str) -> collections.abc.Callable[[Trained], Evidence] | None:
    """Returns the function `evidence` of a model, or None if the model's folder contains no
    `evidence.py`.
    """
    if not (folder(name) / "evidence.py").exists():
        return None
    return importlib.import_module(f"{module(name)}.evidence").evidence


@functools.cache
def of_published(name: str) -> Evidence:
    """Measures the published files of a model. The result is cached, so each process measures a
    model only once.
    """
    return find(name)(published(name))
