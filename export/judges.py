"""What judges an exported file: the published file on people whom it has not seen, or where it has
seen everybody, the models of its cross-validation, each on those it has not."""

import functools
import importlib
import pathlib
import tempfile

import numpy as np

from export import quality
from keras_dml import distances, evaluation, export, inference
from keras_dml.export import litert
from keras_dml.training import measure
from zoo import evidence, recordings


def of(model, card):
    """The judge of a model's files; None where the recordings are not at hand.

    Args:
        model: Model of the zoo.
        card: Its card.
    """
    if recordings.data_dir() is None:
        return None
    if card["data"].get("test_subjects") == []:
        return OfFolds(card["name"])
    measured = quality.test_recordings(card)
    return None if measured is None else OfPublished(model, measured, quality.metric_name(card))


class OfPublished:
    """The figure of the published model and of its files.

    Args:
        model: Model of the zoo.
        measured: `quality.Recordings`.
        metric: `"accuracy"` or `"auc"`.
    """

    def __init__(self, model, measured, metric):
        self.model, self.measured, self.metric = model, measured, metric

    def by_keras(self, distance=None):
        """Figure of the model by its own distance or another one."""
        return quality.by_keras(self.model, self.measured, self.metric, distance)

    def by_file(self, path, _):
        """Figure of a .tflite file."""
        return quality.by_file(path, self.model, self.measured, self.metric)


class OfFolds:
    """AUC of a cross-validation, over the trials of all folds.

    Args:
        name: Name of a model whose `evidence` has `over_folds(distances) -> Measurement`.
    """

    def __init__(self, name):
        self.folds = evidence.published(name).folds
        self.over_folds = importlib.import_module(f"zoo.{name}.evidence").over_folds

    def by_keras(self, distance=None):
        """AUC of the models of the folds by their own distance or another one."""
        return self._auc([_by_keras(fold, distance) for fold in self.folds])

    def by_file(self, _, quantization):
        """AUC of .tflite files of the models of the folds; None of int8, whose ranges are those of
        recordings of everybody.

        Args:
            quantization: Same as in `keras_dml.export.tflite`.
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
    # the file of a model of matrices answers with vectors, compared as vectors
    own = inference.head_distance(model)
    distance = distances.Euclidean() if export.works_on_matrices(model) else own
    vectors = litert.embed(path, signals)
    return np.asarray(distance(vectors, vectors))
