"""Writes TFLite files of a trained model, and measures how each file changes the AUC."""

from __future__ import annotations

import functools
import pathlib
from typing import Any

import numpy as np

from keras_dml import distances, evaluation, export, inference, progress, training
from keras_dml.export import litert
from keras_dml.training import trials
from keras_dml.training.own.task import Task, measurable, thin
from keras_dml.training.people import People
from keras_dml.zoo import catalog, lookup, reading

QUANTIZATIONS: dict[str, str | None] = {"float32": None, "float16": "float16"}
MOST_WINDOWS, PER_SIDE = 240, 6  # of all people; per person, of enrolled recordings or probes
EXAMPLES = 16  # number of recordings on which a file is compared with Keras
ARE = (
    "These files for devices are in the same folder, and their names contain the number format. "
    "`keras_dml.export.contract` returns the expected input of a file. The change in AUC is the "
    "AUC of the file minus the AUC of the model, measured on the people of the training data."
)


def remove(folder: pathlib.Path) -> None:
    """Deletes the files of an earlier model.

    Args:
        folder: Folder of the model.
    """
    for numbers in QUANTIZATIONS:
        path(folder, numbers).unlink(missing_ok=True)


def write(folder: pathlib.Path, task: Task, people: People) -> tuple[dict[str, Any], str | None]:
    """Writes TFLite files that contain only builtin operators, and lists them in the card.

    Args:
        folder: Folder of the model. The name of the folder is the name of the model.
        task: Task of the training.
        people: `People` whose recordings are divided into enrolled recordings and probes.

    Returns:
        The card, and the reason why a file is missing, or None if all files are written.
    """
    model = reading.load(str(folder))
    windows = _windows(task, people)
    rows, changes, reason = [], {"exports_are": ARE}, None
    for numbers, quantization in progress.track(QUANTIZATIONS.items(), "export to TFLite"):
        file = path(folder, numbers)
        try:
            exported = export.tflite(model, file, quantization, windows.signals[:EXAMPLES])
        except (ImportError, RuntimeError, ValueError) as error:
            reason = f"{file.name} was not written. {str(error).splitlines()[0]}"
            break
        if quantization is None:
            changes["edge"] = {"file": file.name, "sha256": reading.sha256(file)}
        rows.append(training.export_row(exported, "auc", *_auc_changes(model, file, windows)))
    if not rows:
        return catalog.read_json(folder / lookup.CARD), reason
    return training.update(folder, exports=rows, **changes), reason


def path(folder: pathlib.Path, numbers: str) -> pathlib.Path:
    """Returns the path of a TFLite file.

    Args:
        folder: Folder of the model.
        numbers: One of `QUANTIZATIONS`.
    """
    return folder / f"{folder.name}_{numbers}.tflite"


def _windows(task, people):
    """Returns windows of the people who can be measured, or of all people if nobody can be
    measured.
    """
    names = measurable(people, task.window) or people.subjects
    windows = people.select(names).windows(task.window)
    sides = list(zip(windows.subjects, windows.sessions, strict=True))
    return thin(windows, sides, max(1, min(PER_SIDE, MOST_WINDOWS // len(set(sides)))))


def _auc_changes(model, file, windows):
    """Returns the change in AUC by the export, and the change in AUC by the distance of the file.

    For the first change, the file and Keras use the distance of the file, and the change is the AUC
    of the file minus the AUC of Keras. For the second change, Keras uses both distances, and the
    change is the AUC with the distance of the file minus the AUC with the distance of the model. A
    change is None if there are too few people to measure it. The second change is also None if the
    two distances are the same.
    """
    if len(measurable(windows, 1)) < 2:
        return None, None
    distance = inference.head_distance(model)
    z = inference.embed(model, windows.signals, progress=False)
    vectors = litert.embed(file, windows.signals)
    auc = functools.partial(_auc, windows)
    if distance.device_distance is None:
        return auc(distance, vectors) - auc(distance, z), None
    by_keras = auc(distances.get(distance.device_distance), z)
    by_distance = None
    if distance.device_distance != distance.name:
        by_distance = by_keras - auc(distance, z)
    # The outputs of the file are tangent vectors.
    return auc(distances.Euclidean(), vectors) - by_keras, by_distance


def _auc(windows, distance, embeddings):
    subjects = np.array(windows.subjects)
    probes = trials.is_last_session(subjects, windows.sessions)
    between = np.asarray(distance(embeddings[probes], embeddings[~probes]))
    claims = trials.against_gallery(between, subjects[probes], subjects[~probes])
    return evaluation.verification(claims.scores, claims.genuine).auc
