"""Exports a gallery to a folder from which a device decides with NumPy and LiteRT."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np

from keras_dml import _files, export
from keras_dml._messages import Message
from keras_dml._typing import Path, Recordings
from keras_dml.export import litert, parity, trials
from keras_dml.gallery.gallery import Gallery
from keras_dml.gallery.keras_model import keras_model_of
from keras_dml.gallery.results import limit_in_words

MODEL, PEOPLE, GOLDEN, ABOUT, DECIDE = (
    "model.tflite", "gallery.npz", "golden.npz", "gallery.json", "decide.py",
)  # fmt: skip
AFFINE_INVARIANT = "affine_invariant"  # distance that decide.py computes
SCRIPT = pathlib.Path(__file__).with_name("_decide.py")
MARGIN = 2.0  # factor by which the tolerance grows, because other devices round differently
LEAST_TOLERANCE = 1e-4  # as a fraction of the largest score


@dataclasses.dataclass(frozen=True)
class DeviceGallery:
    """A gallery that was exported for a device.

    Attributes:
        path: Path of the folder.
        people: Number of people.
        templates: Number of templates (stored embeddings).
        far: False accept rate for which the threshold was set.
        threshold: Largest score that is accepted.
        difference: Largest difference between two scores of the test recording: the score computed
            with the exported files, and the score computed by the gallery. The difference is stated
            as a fraction of the largest score.
        bytes: Total size of all files, in bytes.
        model: The `keras_dml.export.Export` of the model's file.
        extrapolated: Whether the threshold is extrapolated, see `Threshold.extrapolated`.
        provisional: Whether the threshold is from the model card, see `Threshold.provisional`.
    """

    path: pathlib.Path
    people: int
    templates: int
    far: float
    threshold: float
    difference: float
    bytes: int
    model: export.Export
    extrapolated: bool = False
    provisional: bool = False

    @property
    def limit(self) -> str:
        """The threshold and its false accept rate, as text."""
        return limit_in_words(self, distances=True)


def export_tflite(
    gallery: Gallery,
    folder: Path,
    quantization: str | None = "float16",
    *,
    far: float | None = None,
    representative: Recordings | None = None,
) -> DeviceGallery:
    """Exports a gallery to a folder for a device that decides without Keras.

    The folder contains these files:

    - `model.tflite`: the model with builtin operators, see `keras_dml.export.tflite`. The signature
      `distance` computes the distances from the embedding of a new recording to the templates.
    - `gallery.npz`: arrays. `templates` (n, ...) contains the stored embeddings, and `owner` (n,)
      contains the index of each template's person. `enrolled` (n,) is True for enrolled templates
      and False for templates that `reject` stored. `people` contains the names. The other arrays
      include `threshold`, `margin` and `distance`.
    - `decide.py`: a script that verifies and identifies people. The script needs NumPy and
      ai-edge-litert.
    - `golden.npz`: a test recording and its scores in the gallery. `python decide.py` computes the
      scores on the device and compares them with the stored scores.
    - `gallery.json`: the threshold, the scoring, the decision rule in words and the inputs of the
      model, for programs in other languages.

    The folder contains unencrypted embeddings and names, which are personal data. Before the folder
    gets its final name, this function runs `decide.py` in another process. Then the function
    compares the scores that `decide.py` computes for the test recording with the scores from the
    gallery.

    Args:
        gallery: An open `Gallery`.
        folder: Path of the folder to write. A folder that this function wrote is replaced.
        quantization: Number format of the weights, see `keras_dml.export.tflite`. The templates are
            not quantized, so scores computed with a quantized model differ from the scores of the
            gallery. With float16, the relative difference between the scores is about a thousandth.
        far: False accept rate that selects a calibrated threshold. Default: the smallest calibrated
            rate.
        representative: Recordings that calibrate the quantization `"int8"`.

    Returns:
        The exported `DeviceGallery`.

    Raises:
        TypeError: If `gallery` is not a `Gallery`, or is a `keras_dml.edge.Gallery`.
        ValueError: If nobody is enrolled, if no threshold was calibrated, or if a device cannot
            compute the distance for which the threshold was set. The error is also raised if the
            files give different scores than the gallery, or if `folder` exists and this function
            did not write it. See also `keras_dml.export.tflite`.
        RuntimeError: If Keras does not run on TensorFlow, or if LiteRT cannot run the file.
        OSError: If the folder cannot be written.
        ImportError: If LiteRT is not installed.
    """
    if not isinstance(gallery, Gallery):
        raise TypeError(
            Message(
                "{gallery} is of type {type}, but it must be a Gallery.",
                type=type(gallery).__name__,
            )
        )
    keras_model_of(gallery)
    litert.require()
    if not gallery.thresholds:
        raise ValueError(
            Message(
                "The gallery has no threshold, but a device needs a threshold to decide. Use "
                "{calibrate()} with recordings of people who were not used to train the model, "
                "then export again."
            )
        )
    threshold, people = gallery._threshold(far), _people(gallery)
    with _files.staged(folder, _place) as candidate:
        candidate.mkdir(mode=0o700)  # only the owner may read personal data
        model = export.tflite(gallery.model, candidate / MODEL, quantization, representative)
        limits = {"threshold": threshold.value, "margin": threshold.margin}
        np.savez(candidate / PEOPLE, **people, **limits)
        shutil.copyfile(SCRIPT, candidate / DECIDE)
        golden = _golden(gallery, len(people["people"]))
        scale = np.abs(golden["scores"]).max()
        difference = _difference(candidate, golden, _bound(quantization) * scale)
        tolerance = max(MARGIN * difference, LEAST_TOLERANCE * scale)
        np.savez(candidate / GOLDEN, **golden, tolerance=tolerance)
        about = json.dumps(_about(gallery, threshold, people), indent=2, ensure_ascii=False)
        (candidate / ABOUT).write_text(about, encoding="utf-8")
        size = _files.size(candidate)
    path = pathlib.Path(folder)
    return DeviceGallery(
        path=path,
        people=len(people["people"]),
        templates=len(people["templates"]),
        far=threshold.far,
        threshold=threshold.value,
        difference=float(difference / scale),
        bytes=size,
        model=dataclasses.replace(model, path=path / MODEL),
        extrapolated=threshold.extrapolated,
        provisional=threshold.provisional,
    )


def _place(path):
    members = (MODEL, PEOPLE, GOLDEN, ABOUT, DECIDE, "__pycache__", "__pycache__/*")
    return _files.replaceable_folder(path, "gallery for a device", ABOUT, members)


def _people(gallery):
    """Returns the arrays for `gallery.npz`. The arrays contain all people with at least one
    enrolled recording."""
    gallery._check_anybody(gallery._templates())
    distance = gallery._model.distance
    _check_distance(distance)
    names, enrolled, flat = gallery._records.templates()
    names = np.array(names, dtype=object)
    people = sorted(set(names[enrolled]))
    rows = np.isin(names, people)
    templates = flat[rows].reshape(-1, *gallery._model.embedding_shape)
    if distance.name is not None and distance.name == distance.device_distance:
        templates = distance.index_vectors(templates)  # tangent vectors, as in `model.tflite`
    return {
        "templates": templates,
        "owner": np.array([people.index(name) for name in names[rows]], np.int32),
        "enrolled": enrolled[rows],
        "people": np.array(people, dtype=str),
        "distance": distance.name or "",
        "scoring": gallery.scoring,
        "steps": _steps(gallery.inputs.contract),
    }


def _steps(contract):
    """Returns the smallest and the largest number of time steps that the model accepts."""
    if contract is None:
        return np.array([0.0, np.inf])
    most = np.inf if contract.max_steps is None else contract.max_steps
    return np.array([float(contract.min_steps), float(most)])


def _check_distance(distance):
    """Raises `ValueError` for a distance that the exported folder cannot compute."""
    if distance.device_distance not in (None, distance.name) and distance.name != AFFINE_INVARIANT:
        raise ValueError(
            f"The model of the gallery uses the distance {distance.name!r}, but a file for a "
            f"device can only use the distance {distance.device_distance!r}, for which no "
            f"threshold is set. Train the model with the distance {distance.device_distance!r}, "
            "and calibrate again."
        )


def _golden(gallery, count):
    """Returns a test recording and its scores in the gallery.

    The recording is noise in the units of the model, because galleries do not store recordings.
    """
    typical, _ = trials.examples(gallery.inputs)
    probe = max(typical, key=len)
    z = gallery._model.embed([probe])  # without the quality gate, which may refuse noise
    nearest, _ = gallery._templates().nearest(gallery._model, z, count)
    finite = [(person, score) for person, score in nearest if np.isfinite(score)]
    if not finite:
        raise ValueError(
            Message(
                "The files for a device cannot be tested with {path}. The test recording is noise, "
                "and for every person it is nearest to an imposter recording that {reject()} "
                "stored. Enroll more recordings.",
                path=gallery.path,
            )
        )
    people, scores = zip(*finite, strict=True)
    return {
        "recording": probe,
        "people": np.array(people, dtype=str),
        "scores": np.array(scores),
    }


def _difference(folder, golden, allowed):
    """Returns the largest difference between the scores that `decide.py` computes and the scores
    that the gallery computed."""
    np.savez(folder / GOLDEN, **golden, tolerance=allowed)
    code = "import sys; sys.path.insert(0, sys.argv[1]); import decide; print(*decide.check())"
    process = subprocess.run(
        [sys.executable, "-B", "-P", "-c", code, str(folder)], capture_output=True, text=True
    )
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or [f"status {process.returncode}"])[-1]
        raise RuntimeError(f"{DECIDE} fails with the written files: {reason}.")
    difference = float(process.stdout.split()[0])
    if not difference <= allowed:
        raise parity.ParityError(
            Message(
                "The exported files compute other scores than the gallery. For a test recording, "
                "the scores differ by {difference:.3g}, but at most {allowed:.3g} is allowed. "
                "Nothing was written. Use {quantization=None}, which writes exact float32 weights.",
                difference=difference,
                allowed=allowed,
            )
        )
    return difference


def _bound(quantization):
    """Returns the largest allowed difference between scores, as a fraction of the largest score."""
    bounds = parity.BOUNDS[quantization]
    return MARGIN * max(bounds.embedding, bounds.similarity, LEAST_TOLERANCE)


def _about(gallery, threshold, people):
    """Returns the content of `gallery.json`."""
    contract = gallery.inputs.contract
    rule = (
        "compute the distance from each observed recording to the nearest enrolled recording of "
        "the person. Reject if an observed recording is nearer to a recording that `reject` stored "
        f"as an imposter of the person. Otherwise accept if {_score_in_words(gallery.scoring)} is "
        f"at most {threshold.value:.6g}. To identify a person, take the person with the smallest "
        "value, but decide nothing if the value of another person is larger by at most "
        f"{threshold.margin:.6g}"
    )
    counts = np.bincount(people["owner"][people["enrolled"]])
    return {
        "people": dict(zip(people["people"].tolist(), counts.tolist(), strict=True)),
        "distance": _distance_in_words(gallery._model.distance),
        "scoring": gallery.scoring,
        "threshold": {**dataclasses.asdict(threshold), "rule": rule},
        "model": {  # the path of the model on this machine is removed
            "name": pathlib.Path(gallery._model.name).name,
            "fingerprint": gallery._model.fingerprint,
        },
        "takes": None if contract is None else contract.as_dict(),
    }


def _score_in_words(scoring):
    if scoring == "nearest":
        return "the mean of the distances"
    if scoring == "mean":
        return "the distance from the mean of the observed to the mean of the enrolled recordings"
    return f"the negative of `log_likelihood_ratio` of {DECIDE}"


def _distance_in_words(distance):
    """Describes in words the distance and the function that computes it."""
    if distance.name == AFFINE_INVARIANT:
        return (
            f"{AFFINE_INVARIANT}, computed by `affine_invariant` of {DECIDE}. The signature "
            f"`distance` of {MODEL} computes log_euclidean, for which the threshold was not set"
        )
    return f"{distance.name or 'the distance of the model'}, computed by `distance` of {MODEL}"
