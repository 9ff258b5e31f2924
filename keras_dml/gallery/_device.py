"""A gallery as a folder for a device that decides by itself: NumPy and LiteRT are all it needs."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np

from keras_dml import _files, export, inputs
from keras_dml.export import litert, parity, trials
from keras_dml.gallery._gallery import Gallery
from keras_dml.gallery._results import limit_in_words

MODEL, PEOPLE, GOLDEN, ABOUT, DECIDE = (
    "model.tflite", "gallery.npz", "golden.npz", "gallery.json", "decide.py",
)  # fmt: skip
AFFINE_INVARIANT = "affine_invariant"  # decide.py computes it
SCRIPT = pathlib.Path(__file__).with_name("_decide.py")
MARGIN = 2.0  # another device rounds otherwise
LEAST_TOLERANCE = 1e-4  # of the largest score


@dataclasses.dataclass(frozen=True)
class DeviceGallery:
    """A gallery that was written for a device.

    Attributes:
        path: The folder.
        people: Number of people.
        templates: Number of embeddings.
        far: False accept rate of its threshold.
        threshold: Scores up to it are accepted.
        difference: Largest difference of the golden probe's scores from the gallery's, as a
            fraction of the largest.
        bytes: Size of all files together.
        model: `keras_dml.export.Export` of the model's file.
        extrapolated: Whether the rate is no promise, see `Threshold.extrapolated`.
        provisional: Whether the threshold is the card's, see `Threshold.provisional`.
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
    def limit(self):
        """The threshold in words."""
        return limit_in_words(self, distances=True)


def export_tflite(
    gallery,
    folder: str | os.PathLike,
    quantization: str | None = "float16",
    *,
    far: float | None = None,
    representative=None,
) -> DeviceGallery:
    """Writes a gallery as a folder for a device that decides by itself.

    - `model.tflite`: the model, of builtin operators, see `keras_dml.export.tflite`; its signature
      `distance` compares a probe with the templates.
    - `gallery.npz`: `templates` (n, ...), `owner` (n,) index of each one's person, `enrolled` (n,)
      whether it is the person's or marked as not theirs, `people` names, `threshold`, `distance`.
    - `decide.py`: verifies and identifies; runs in an environment of NumPy and ai-edge-litert.
    - `golden.npz`: a probe with the gallery's scores; `python decide.py` compares.
    - `gallery.json`: threshold and rule in words, what the model takes, for other languages.

    The folder holds embeddings and names in clear, personal data. `decide.py` is run in a process
    of its own on the golden probe before the folder is put in place.

    Args:
        gallery: An open `Gallery`.
        folder: The folder to write; one that this function wrote is replaced.
        quantization: What the weights become, see `keras_dml.export.tflite`. The templates are
            Keras's, so that a file that drifts decides otherwise: float16 by a thousandth.
        far: False accept rate of the threshold, one that was calibrated; None: the smallest.
        representative: Recordings for `"int8"`.

    Returns:
        `DeviceGallery`.

    Raises:
        TypeError: If `gallery` is none.
        ValueError: If nobody is enrolled, there is no threshold, a device cannot compute the
            distance that the threshold is one of, the files do not decide as the gallery, or
            something else is at `folder`; also see `keras_dml.export.tflite`.
        RuntimeError: If Keras does not run on TensorFlow, or LiteRT cannot run the file.
        OSError: If the folder cannot be written.
        ImportError: If LiteRT is not installed.
    """
    if not isinstance(gallery, Gallery):
        raise TypeError(f"`gallery` must be a Gallery. Received {type(gallery).__name__}.")
    litert.require()
    if not gallery.thresholds:
        raise ValueError(
            "The gallery has no threshold, and a device decides by one: call `calibrate` with "
            "recordings of people whom the model has never seen, then export again."
        )
    found, people = gallery._set(far), _people(gallery)
    with _files.staged(folder, _place) as candidate:
        candidate.mkdir(mode=0o700)  # personal data: for its owner alone, as the gallery
        written = export.tflite(gallery.model, candidate / MODEL, quantization, representative)
        np.savez(candidate / PEOPLE, **people, threshold=found.value)
        shutil.copyfile(SCRIPT, candidate / DECIDE)
        golden = _golden(gallery, len(people["people"]))
        scale = np.abs(golden["scores"]).max()
        difference = _difference(candidate, golden, _bound(quantization) * scale)
        tolerance = max(MARGIN * difference, LEAST_TOLERANCE * scale)
        np.savez(candidate / GOLDEN, **golden, tolerance=tolerance)
        about = json.dumps(_about(gallery, found, people), indent=2, ensure_ascii=False)
        (candidate / ABOUT).write_text(about, encoding="utf-8")
        size = _files.size(candidate)
    path = pathlib.Path(folder)
    return DeviceGallery(
        path=path,
        people=len(people["people"]),
        templates=len(people["templates"]),
        far=found.far,
        threshold=found.value,
        difference=float(difference / scale),
        bytes=size,
        model=dataclasses.replace(written, path=path / MODEL),
        extrapolated=found.extrapolated,
        provisional=found.provisional,
    )


def _place(path):
    members = (MODEL, PEOPLE, GOLDEN, ABOUT, DECIDE, "__pycache__", "__pycache__/*")
    return _files.replaceable_folder(path, "gallery for a device", ABOUT, members)


def _people(gallery):
    """The arrays of `gallery.npz`, those of people with at least one recording enrolled."""
    gallery._check_anybody(gallery._templates())
    distance = gallery._model.distance
    _check_distance(distance)
    names, enrolled, flat = gallery._store.templates()
    names = np.array(names, dtype=object)
    people = sorted(set(names[enrolled]))
    known = np.isin(names, people)
    templates = flat[known].reshape(-1, *gallery._model.embedding_shape)
    if distance.name is not None and distance.name == distance.device_distance:
        templates = distance.index_vectors(templates)  # tangent vectors, as the file's embeddings
    return {
        "templates": templates,
        "owner": np.array([people.index(name) for name in names[known]], np.int32),
        "enrolled": enrolled[known],
        "people": np.array(people, dtype=str),
        "distance": distance.name or "",
        "steps": _steps(inputs.from_model(gallery.model).contract),
    }


def _steps(contract):
    """Fewest and most steps of a recording that the model takes."""
    if contract is None:
        return np.array([0.0, np.inf])
    most = np.inf if contract.max_steps is None else contract.max_steps
    return np.array([float(contract.min_steps), float(most)])


def _check_distance(distance):
    """Refuses a distance that neither an exported file nor NumPy computes."""
    if distance.device_distance not in (None, distance.name) and distance.name != AFFINE_INVARIANT:
        raise ValueError(
            f"The gallery's model compares by the distance {distance.name!r}, and its file for a "
            f"device by {distance.device_distance!r}, for which the threshold was not set. Train "
            f"the model with the distance {distance.device_distance!r} and calibrate again."
        )


def _golden(gallery, count):
    """A probe, and its scores as the gallery gives them: noise in the model's units, since no
    recording of a person is kept."""
    typical, _ = trials.examples(inputs.from_model(gallery.model))
    probe = max(typical, key=len)
    z = gallery._model.embed([probe])  # which a gate may refuse
    nearest, _ = gallery._templates().nearest(gallery._model, z, count)
    compared = [(person, score) for person, score in nearest if np.isfinite(score)]
    if not compared:
        raise ValueError(
            f"{gallery.path} decides nothing that a device could be tested by: a probe of noise is "
            "nearest to recordings marked as not theirs, for everybody. Enroll more recordings."
        )
    people, scores = zip(*compared, strict=True)
    return {
        "recording": probe,
        "people": np.array(people, dtype=str),
        "scores": np.array(scores),
    }


def _difference(folder, golden, allowed):
    """Largest difference of the scores that the written files give, in a process of its own."""
    np.savez(folder / GOLDEN, **golden, tolerance=allowed)
    code = "import sys; sys.path.insert(0, sys.argv[1]); import decide; print(*decide.checked())"
    done = subprocess.run(
        [sys.executable, "-B", "-P", "-c", code, str(folder)], capture_output=True, text=True
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise RuntimeError(f"{DECIDE} cannot decide by the written files: {reason}.")
    found = float(done.stdout.split()[0])
    if not found <= allowed:
        raise parity.ParityError(
            f"The files do not decide as the gallery: scores of a probe differ by {found:.3g}, "
            f"more than {allowed:.3g}. Nothing was written. quantization=None (float32) is exact."
        )
    return found


def _bound(quantization):
    """Largest difference of scores, as a fraction of the largest."""
    bounds = parity.BOUNDS[quantization]
    return MARGIN * max(bounds.embedding, bounds.similarity, LEAST_TOLERANCE)


def _about(gallery, threshold, people):
    contract = inputs.from_model(gallery.model).contract
    rule = (
        "accept where the mean, over the recordings observed, of the least distance to those "
        f"enrolled of the person is at most {threshold.value:.6g}, unless one is nearer to a "
        "recording marked as not the person's"
    )
    counts = np.bincount(people["owner"][people["enrolled"]])
    return {
        "people": dict(zip(people["people"].tolist(), counts.tolist(), strict=True)),
        "distance": _distance_in_words(gallery._model.distance),
        "threshold": {**dataclasses.asdict(threshold), "rule": rule},
        "model": {  # its folder here is nobody's business there
            "name": pathlib.Path(gallery._model.name).name,
            "fingerprint": gallery._model.fingerprint,
        },
        "takes": None if contract is None else contract.as_dict(),
    }


def _distance_in_words(distance):
    """The distance that the threshold is of, and what computes it."""
    if distance.name == AFFINE_INVARIANT:
        return (
            f"{AFFINE_INVARIANT}, by `affine_invariant` of {DECIDE}; the signature `distance` of "
            f"{MODEL} computes log_euclidean, for which the threshold was not set"
        )
    return f"{distance.name or 'the distance of the model'}, by `distance` of {MODEL}"
