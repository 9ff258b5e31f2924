"""Measures exported models on people who are not in the training data.

A published model is measured on its test people. If the published model was trained on all people,
the models of the cross-validation are measured. Each of these models is measured on the people who
are not in its training data.
"""

import functools
import importlib
import pathlib
import tempfile
from typing import TYPE_CHECKING

import numpy as np

from export import quality
from keras_dml import distances, evaluation, export, inference
from keras_dml.export import litert
from keras_dml.training import measure
from zoo import evidence, recordings

if TYPE_CHECKING:
    import keras


def judge_of(model: "keras.Model", card: dict) -> "PublishedJudge | FoldsJudge | None":
    """Returns the judge that measures files of a model, or None if there are no recordings.

    Args:
        model: Model of the zoo.
        card: Card of the model.
    """
    if recordings.data_dir() is None:
        return None
    if card["data"].get("test_subjects") == []:
        return FoldsJudge(card["name"])
    measured = quality.test_recordings(card)
    return None if measured is None else PublishedJudge(model, measured, quality.metric_name(card))


class PublishedJudge:
    """Judge that measures a published model and its files.

    Args:
        model: Model of the zoo.
        measured: Recordings on which the judge measures the model.
        metric: `"accuracy"` or `"auc"`.
    """

    def __init__(self, model: "keras.Model", measured: quality.Recordings, metric: str):
        self.model, self.measured, self.metric = model, measured, metric

    def by_keras(self, distance: distances.Distance | None = None) -> float:
        """Computes the model's AUC with `distance` (default: its own distance), or its accuracy."""
        return quality.by_keras(self.model, self.measured, self.metric, distance)

    def by_file(self, path: pathlib.Path, _: str | None) -> float:
        """Computes the AUC or accuracy of a .tflite file."""
        return quality.by_file(path, self.model, self.measured, self.metric)


class FoldsJudge:
    """Judge that measures the AUC of cross-validated models over the trials of all folds.

    Args:
        name: Name of a model whose module `evidence` has `over_folds(distances) -> Measurement`.
    """

    def __init__(self, name: str):
        self.folds = evidence.published(name).folds
        self.over_folds = importlib.import_module(f"zoo.{name}.evidence").over_folds

    def by_keras(self, distance: distances.Distance | None = None) -> float:
        """Computes the AUC of all folds' models with `distance` (default: their own distances)."""
        return self._auc([_by_keras(fold, distance) for fold in self.folds])

    def by_file(self, _: pathlib.Path, quantization: str | None) -> float | None:
        """Exports the model of each fold as a .tflite file, and computes the AUC of these files.

        The result is None for int8, because the ranges of int8 files are set by recordings of all
        people, including the test people of a fold.

        Args:
            quantization: Type of the weights, as in `keras_dml.export.tflite`.
        """
        if quantization == "int8":
            return None
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"{i}.tflite" for i in range(len(self.folds))]
            for path, fold in zip(paths, self.folds, strict=True):
                export.tflite(fold, path, quantization)
            files = zip(paths, self.folds, strict=True)
            return self._auc([functools.partial(_by_file, *file) for file in files])

    def _auc(self, between):
        trials = self.over_folds(between).trials
        return evaluation.verification(trials.scores, trials.genuine).auc


def _by_keras(model, distance):
    def between(signals):
        embeddings = inference.embed(model, signals)
        return np.asarray(distance(embeddings, embeddings))

    return between if distance else functools.partial(measure.pairwise_distances, model)


def _by_file(path, model, signals):
    # If a model takes matrices, its file returns tangent vectors.
    distance = inference.head_distance(model)
    distance = distances.Euclidean() if export.works_on_matrices(model) else distance
    vectors = litert.embed(path, signals)
    return np.asarray(distance(vectors, vectors))
