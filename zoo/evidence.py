"""What headline, baselines and thresholds of a card are measured on: the published files.

`zoo/<name>/evidence.py` holds `evidence(trained) -> Evidence`. Publishing a model calls it, and so
do `python -m zoo.measure` and the test that compares a card with its files.
"""

import collections.abc
import dataclasses
import functools
import importlib
import pathlib

from keras_dml import training, zoo
from keras_dml.training import measure, pooled
from keras_dml.training.answers import Answers
from keras_dml.training.own import cross_validation

ZOO = pathlib.Path(__file__).resolve().parent
FOLDS, CONTROLS = "folds", "controls"
CARRIED = (
    "The published file knows people at hand, so each threshold is carried over: it is that of the "
    "models of the cross-validation, in units of the median distance between two {unit} that a "
    "model knows, times the unit of the published file. Its rates are those of the "
    "cross-validation. Calibrate on {unit} that the file does not know."
)


@dataclasses.dataclass(frozen=True)
class Evidence:
    """A measurement with what stands beside it on the card.

    Attributes:
        measured: `keras_dml.training.measure.Measurement`, or `keras_dml.training.answers.Answers`
            of a classifier of images.
        baselines: Function that gives other methods on the same trials, `{name: (what, kind,
            values)}`; only what writes a card calls it.
        groups: Known confounders of a threshold, see `keras_dml.training.pooled.thresholds`.
        on_device: Function that measures `device_thresholds` of the card; None for a model whose
            files compute its own distance.
        unit: Function that measures the unit of the published file and the offset of its distances
            from 0, `(unit, offset)`, where the thresholds are carried over from models that have
            seen other people; else None.
        figures: Function that gives the card's `figures`; None where they need more than the
            published files.
    """

    measured: measure.Measurement | Answers
    baselines: collections.abc.Callable = dict
    groups: dict | None = None
    on_device: collections.abc.Callable | None = None
    unit: collections.abc.Callable | None = None
    figures: collections.abc.Callable | None = None

    def card(self, about):
        """The keys of the card that it makes.

        Args:
            about: Static part of the card: words of the headline, and an empty list of
                `test_subjects` where the published file has seen everybody.
        """
        words = {"trials": pooled.TRIALS, "repeats": pooled.BLOCKS}
        found = {
            "headline": {**about.get("headline", words), **self.measured.headline},
            "baselines": self.measured.baselines(self.baselines()),
        }
        found |= self.decisions(about["data"].get("test_subjects") != [])
        if self.on_device is not None:
            found["device_thresholds"] = self.on_device()
        if self.figures is not None:
            found["figures"] = self.figures()
        return found

    def decisions(self, has_unseen):
        """The keys of the card that a gallery decides by, of people whom the models have not seen;
        none of a classifier of images.

        Args:
            has_unseen: Whether there are people whom the published file has not seen.
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
        rows = pooled.thresholds(trials, self.groups)
        return {"thresholds": rows, "imposters": pooled.imposter_statistics(trials)}


def unit_of(model, people):
    """Returns `(unit, offset)` of a published model, see `Evidence.unit`.

    Args:
        model: The model.
        people: `keras_dml.training.People` whom it knows.
    """
    offset = cross_validation.distance_offset(model)

    def between(signals):
        return measure.pairwise_distances(model, signals) + offset

    return float(measure.distance_unit(between, people)), offset


class Trained:
    """The models that are measured.

    Args:
        whole: The model that is published.
        folds: Models of a cross-validation, in the order of its folds.
        controls: Models of other methods, by name.
    """

    def __init__(self, whole, folds=(), controls=None):
        self.whole, self.folds, self.controls = whole, list(folds), dict(controls or {})


def save_beside(folder, kind, models):
    """Writes further models beside the published one, in place of others of their kind.

    Args:
        folder: Folder of the model in the zoo, a `pathlib.Path`.
        kind: `FOLDS` or `CONTROLS`.
        models: `{name: model}`; folds are named in their order.
    """
    place = folder / kind
    place.mkdir(parents=True, exist_ok=True)
    for path in place.glob("*.keras"):
        path.unlink()
    for name, model in models.items():
        training.without_optimizer(model).save(place / f"{name}.keras")


def published(name):
    """`Trained` from the files of a model of the zoo."""
    folds, controls = (
        {path.stem: zoo.load(path) for path in sorted((ZOO / name / kind).glob("*.keras"))}
        for kind in (FOLDS, CONTROLS)
    )
    return Trained(zoo.load(name), folds.values(), controls)


def of(name):
    """The function `evidence` of a model, None where it has none."""
    if not (ZOO / name / "evidence.py").exists():
        return None
    return importlib.import_module(f"zoo.{name}.evidence").evidence


@functools.cache
def of_published(name):
    """`Evidence` from the files of a model of the zoo, measured once in a process."""
    return of(name)(published(name))
