"""Exports a model to a folder with everything that the program of a device needs."""

import dataclasses
import json
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_dml import evaluation, inputs
from keras_dml._arrays import whole
from keras_dml._backend import keras
from keras_dml._files import replaceable_bundle, size, staged
from keras_dml._messages import Message
from keras_dml._typing import Path, Recordings
from keras_dml.export import _contract, _flatbuffer, litert, signatures
from keras_dml.export._tflite import tflite
from keras_dml.export.result import Export
from keras_dml.export.trials import examples

MODEL, ABOUT, GOLDEN, RAW = "model.tflite", "bundle.json", "golden.npz", "golden"
TEMPLATES = pathlib.Path(__file__).with_name("bundle_files")
SUFFIX = ".in"  # of a template that is not a valid Python file before the values are inserted
QUANTIZATIONS = (None, "float16", "dynamic")
FARS = (0.1, 0.05, 0.01, 0.001)
# Threshold of the examples if the file has no threshold. Some distances, such as the negative
# cosine, are below 0 for most pairs of people. All five languages read this number as a float.
REJECTS_ALL = -3e38
# Largest allowed difference of an output on the device, as a fraction of the largest value. Other
# processors round differently. A wrong slice or another file gives differences of about 1.
TOLERANCES = {None: 1e-3, "float16": 1e-3, "dynamic": 1e-1}


def bundle(
    model: keras.Model | Path,
    folder: Path,
    *,
    steps: int,
    gallery: int = 64,
    quantization: str | None = None,
    recordings: Recordings | None = None,
    people: Sequence[Any] | None = None,
) -> Export:
    """Writes a folder with everything that the program of a device needs.

    The folder contains these files:

    - `model.tflite`: the model with fixed shapes, see `tflite`.
    - `bundle.json`: the input contract, the thresholds for the distance of this file, the shapes of
      the raw files, and the tolerance of the test.
    - `golden.npz`: arguments and outputs of both signatures. `golden/NAME.bin` contains the same
      arrays as raw little-endian numbers in C order, for programs in other languages.
    - `check.py`: compares the outputs on the device with the golden outputs. The script needs
      only NumPy and ai-edge-litert.
    - `example.py`, `Example.kt`, `Example.swift`, `example.cpp` and `example.js`: functions that
      compute embeddings and decide, with the shapes and a threshold of this file.

    The decisions of float32 and float16 files agree with Keras, except for scores that are very
    close to a threshold, so the thresholds of the model card apply to these files. A file with
    quantization `"dynamic"` needs other thresholds, which the function measures with
    `recordings` and `people`. Measured thresholds replace the thresholds of the card in
    `bundle.json` and in the metadata of `model.tflite`, which `export.contract` reads.

    Args:
        model: A `keras.Model` that takes recordings of any length, or the name or path of a saved
            model.
        folder: Path of the folder to write. A folder that this function wrote is replaced.
        steps: Number of time steps of the file's signal, see `tflite`.
        gallery: Number of rows of the file's gallery.
        quantization: Type of the weights: `None` (float32), `"float16"` or `"dynamic"`.
        recordings: Recordings `(time, channels)` of people who were not used to train the model.
            Thresholds are measured on all pairs of these recordings, with one enrolled recording.
            If all recordings of a person are from the same day, the true accept rate (TAR) is too
            high. `Export.flips` counts the decisions that differ from Keras at the thresholds of
            the model card.
        people: Name of the person of each recording.

    Returns:
        `Export` of the model's file. `path` is the folder, and `bytes` is the size of all files.
        If thresholds were measured, a note says on how many recordings.

    Raises:
        ValueError: If the model does not take recordings of any length, if the quantization is
            unknown, if `steps` is below 1, if `"dynamic"` has no recordings, if `recordings` and
            `people` have different lengths or too few people, if a recording is longer than
            `steps`, or if `folder` is not a folder that this function wrote. See also `tflite`.
        TypeError: If `steps` or `gallery` is not an integer, or a recording is not an array of
            numbers.
        RuntimeError: If Keras does not run on TensorFlow, or if LiteRT cannot run the file.
        OSError: If the folder cannot be written.
        ImportError: If LiteRT is not installed.
    """
    _check(quantization, recordings, people, steps)
    with staged(folder, replaceable_bundle) as candidate:
        candidate.mkdir()
        encoder, classifier = signatures.parts(model)
        kind = inputs.from_model(encoder)
        if not isinstance(kind, inputs.Signals) or not kind.has_any_length:
            raise ValueError(
                f"The model {encoder.name!r} takes inputs of shape {kind.shape}, but a bundle "
                "needs a model that takes recordings (time, channels) of any number of time steps. "
                "Export this model by `keras_dml.export.tflite`."
            )
        metric = signatures.own_metric(classifier or encoder)
        exported = tflite(
            model, candidate / MODEL, quantization, recordings, steps=steps, gallery=gallery
        )
        contract = _read_contract(candidate / MODEL)
        notes = list(exported.notes)
        contract["distance"] = metric.device_distance or metric.name
        if recordings is not None:
            notes = [note for note in notes if note != contract.get("note")]
            contract |= _measured(candidate / MODEL, list(recordings), people)
            notes.append(contract["note"])
            _write_contract(candidate / MODEL, contract)
        golden = _golden(candidate / MODEL, kind, steps, gallery)
        np.savez(candidate / GOLDEN, **golden)
        about = {
            **contract,
            "quantization": quantization or "float32",
            "drift": exported.drift,
            "flips": exported.flips,
            "decisions": exported.decisions,
            "tolerance": TOLERANCES[quantization],
            "golden": _write_raw(candidate / RAW, golden),
        }
        text = json.dumps(about, indent=2, ensure_ascii=False)
        (candidate / ABOUT).write_text(text, encoding="utf-8")
        _write_examples(candidate, contract, golden)
        total_bytes = size(candidate)
    return dataclasses.replace(
        exported, path=pathlib.Path(folder), bytes=total_bytes, notes=tuple(notes)
    )


def _check(quantization, recordings, people, steps):
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            Message(
                "{quantization} is {value!r}, but it must be one of {expected}.",
                value=quantization,
                expected=QUANTIZATIONS,
            )
        )
    if (recordings is None) != (people is None) or (
        people is not None and len(recordings) != len(people)
    ):
        raise ValueError(
            Message(
                "{recordings} and {people} must be two lists of the same length, or be left out."
            )
        )
    if quantization == "dynamic" and recordings is None:
        raise ValueError(
            Message(
                "The thresholds of the model do not apply to dynamic weights. Pass {recordings} of "
                "people who were not used to train the model, and {people}. Or set "
                '{quantization="float16"}.'
            )
        )
    steps = whole("steps", steps, 1)
    arrays = [] if recordings is None else recordings
    longest = max((len(x) for x in arrays if np.ndim(x)), default=0)
    if longest > steps:
        raise ValueError(
            Message(
                "The longest recording of {recordings} has {longest} steps, but {steps} is "
                "{value}. Cut windows of at most {value} steps, or increase {steps}.",
                longest=longest,
                value=steps,
            )
        )


def _read_contract(file):
    try:
        return _contract.contract(file)
    except ValueError:  # the model has no contract
        return {}


def _write_contract(file, contract):
    model = _flatbuffer.read(file.read_bytes())
    _flatbuffer.attach(model, _contract.METADATA, _contract.as_json(contract))
    file.write_bytes(_flatbuffer.write(model))


def _measured(file, recordings, people):
    """Measures thresholds of a file on all pairs of recordings.

    Returns:
        The entries `thresholds` and `note` of a contract.
    """
    arrays = [np.asarray(recording, np.float32) for recording in recordings]
    names = np.array([str(person) for person in people])
    z = litert.embed(file, arrays)
    first, second = np.triu_indices(len(arrays), 1)
    scores = litert.distance(file, z, z)[first, second]
    trials = names[first], names[second]
    genuine = trials[0] == trials[1]
    rows = []
    for far in FARS:
        if (~genuine).sum() * far < 1:
            continue
        value = float(evaluation.threshold_at_far(scores, genuine, far).value)
        rates = evaluation.accept_rates(scores, genuine, value, people=trials)
        rows.append(
            {
                **_contract.with_rule({"far": far, "value": value, "enrolled": 1}),
                "people": len(set(names.tolist())),
                "trials": int((~genuine).sum()),
                "far_ci95": list(rates.far_ci95),
                "tar": float(rates.tar),
                "tar_ci95": list(rates.tar_ci95),
            }
        )
    note = (
        "The thresholds were measured with this file on all pairs of "
        f"{len(arrays)} recordings of {len(set(names.tolist()))} people."
    )
    return {"thresholds": rows, "note": note}


def _golden(file, kind, steps, gallery):
    """Returns the arguments and the outputs of both signatures for generated recordings."""
    recordings = [x[:steps] for x in examples(kind, steps)[0]]
    recordings.append(recordings[-1] / 2)  # with few steps, there is only one length
    probe = recordings[-2][: max(signatures.limits(kind).least, steps - 1)]
    z = litert.embed(file, [probe, *recordings])
    rows = np.resize(np.arange(1, len(z)), gallery)
    arguments = kind.single(probe, steps)
    return {
        "signal": arguments["signal"],
        "length": np.int32(len(probe)),
        "embedding": z[:1],
        "gallery": z[rows],
        "distance": litert.distance(file, z[:1], z[rows])[0],
    }


def _write_raw(folder, golden):
    """Writes arrays as raw little-endian files, and returns their names, types and shapes."""
    folder.mkdir()
    specs = {}
    for name, values in golden.items():
        values = np.asarray(values)
        little = values.astype(values.dtype.newbyteorder("<"))
        (folder / f"{name}.bin").write_bytes(little.tobytes())
        specs[name] = {
            "file": f"{RAW}/{name}.bin",
            "dtype": values.dtype.name,
            "shape": list(values.shape),
        }
    return specs


def _write_examples(folder, contract, golden):
    """Writes the script of the test and the examples, with the shapes and a threshold."""
    rows = contract.get("thresholds") or [{"value": REJECTS_ALL, "far": 0}]
    row = min(rows, key=lambda each: abs(each["far"] - 0.01))
    far = f"{100 * row['far']:g} %"
    if row["value"] == REJECTS_ALL:
        far += ": everyone is rejected until you measure a threshold"
    _, time, channels = golden["signal"].shape
    values = {
        "TIME": time,
        "CHANNELS": channels,
        "ROWS": len(golden["gallery"]),
        "EMBEDDING": list(golden["embedding"].shape[1:]),
        "THRESHOLD": repr(float(row["value"])),
        "FAR": far,
    }
    for template in sorted(TEMPLATES.iterdir()):
        if template.is_file():
            text = template.read_text(encoding="utf-8")
            for name, value in values.items():
                text = text.replace(f"@{name}@", str(value))
            name = template.name.removesuffix(SUFFIX)
            (folder / name).write_text(text, encoding="utf-8")
