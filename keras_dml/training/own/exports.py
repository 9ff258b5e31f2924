"""Files for devices beside a model of one's own, and what they cost."""

from __future__ import annotations

import functools

import numpy as np

from keras_dml import distances, evaluation, export, inference, progress, training
from keras_dml.export import litert
from keras_dml.training import trials
from keras_dml.training.own.task import measurable, thinned
from keras_dml.zoo import catalog, lookup, reading

QUANTIZATIONS = {"float32": None, "float16": "float16"}
MOST_WINDOWS, A_SIDE = 240, 6  # of all people; of a side of a person
EXAMPLES = 16  # recordings on which a file is compared with Keras
ARE = (
    "Files for devices beside this page, named by their numbers; `keras_dml.export.contract` says "
    "what one takes. The change in AUC is measured on the people at hand, file and model alike."
)


def remove(folder):
    """Deletes the files of an earlier model.

    Args:
        folder: Folder of the model, a `pathlib.Path`.
    """
    for numbers in QUANTIZATIONS:
        path(folder, numbers).unlink(missing_ok=True)


def write(folder, task, people):
    """Writes the model of a folder as TFLite files of builtin operators, and adds them to its card.

    Args:
        folder: Folder of the model, a `pathlib.Path`; its name is that of the model.
        task: `keras_dml.training.own.task.Task`.
        people: `keras_dml.training.People` in sides.

    Returns:
        The card, and why a file is missing, in words; None where all are written.
    """
    model = reading.load(str(folder))
    windows = _windows(task, people)
    rows, reason = [], None
    for numbers, quantization in progress.track(QUANTIZATIONS.items(), "export to TFLite"):
        file = path(folder, numbers)
        try:
            made = export.tflite(model, file, quantization, windows.signals[:EXAMPLES])
        except (ImportError, RuntimeError, ValueError) as error:
            reason = f"{file.name} was not written. {str(error).splitlines()[0]}"
            break
        rows.append(training.export_row(made, "auc", *_changes(model, file, windows)))
    if not rows:
        return catalog.read_json(folder / lookup.CARD), reason
    return training.update(folder, exports=rows, exports_are=ARE), reason


def path(folder, numbers):
    """The file of a model.

    Args:
        folder: Folder of the model, a `pathlib.Path`.
        numbers: One of `QUANTIZATIONS`.
    """
    return folder / f"{folder.name}_{numbers}.tflite"


def _windows(task, people):
    """Some windows of those who have them on both sides, as many of each; else of everybody."""
    names = measurable(people, task.window) or people.subjects
    windows = people.of(names).windows(task.window)
    sides = list(zip(windows.subjects, windows.sessions, strict=True))
    return thinned(windows, sides, max(1, min(A_SIDE, MOST_WINDOWS // len(set(sides)))))


def _changes(model, file, windows):
    """Change in AUC by a file, and by the distance that it compares by where that is another one
    than the model's; None where people are too few to measure it."""
    if len(measurable(windows, 1)) < 2:
        return None, None
    own = inference.head_distance(model)
    z = inference.embed(model, windows.signals, progress=False)
    vectors = litert.embed(file, windows.signals)
    auc = functools.partial(_auc, windows)
    if own.device_distance is None:
        return auc(own, vectors) - auc(own, z), None
    by_keras = auc(distances.get(own.device_distance), z)
    moved = None if own.device_distance == own.name else by_keras - auc(own, z)
    return auc(distances.Euclidean(), vectors) - by_keras, moved  # of tangent vectors


def _auc(windows, distance, embeddings):
    subjects = np.array(windows.subjects)
    probes = trials.of_last_session(subjects, windows.sessions)
    between = np.asarray(distance(embeddings[probes], embeddings[~probes]))
    found = trials.against_gallery(between, subjects[probes], subjects[~probes])
    return evaluation.verification(found.scores, found.genuine).auc
