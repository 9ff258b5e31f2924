"""Reads and writes the input contract and the thresholds inside an exported file, as JSON."""

import json
import pathlib
from typing import Any

from keras_dml import scoring
from keras_dml._typing import Path
from keras_dml.export import _flatbuffer, onnx_files
from keras_dml.zoo import schema

METADATA = "keras_dml.contract"  # name of the metadata entry in a .tflite file or an ONNX file
THRESHOLD = ("far", "value", "enrolled")  # keys of a card's threshold
EIGHT_BITS = ("dynamic", "int8")  # quantizations that change decisions at the card's thresholds
ASSET = pathlib.Path("assets.extra", "contract.json")  # path inside a SavedModel


def contract(path: Path) -> dict[str, Any]:
    """Reads the input contract and the thresholds of an exported file, without TensorFlow.

    Args:
        path: Path of a .tflite file or an .onnx file, or of the folder of a SavedModel or of ONNX
            files.

    Returns:
        Dict with `channels`, `units`, `rate_hz`, `min_steps`, `max_steps`, `stddev_range` and
        `events`, as in `keras_dml.layers.InputContract`. If the model card has thresholds, the dict
        also has `distance` and `thresholds`. `distance` is the name of the distance that the file
        computes. `thresholds` lists thresholds that apply to the file, each with its false accept
        rate `far`, its `value` and its `rule` as text. If the thresholds of the card do not apply
        to the file, `thresholds` is empty and `note` explains why. This is the case if the file
        computes another distance, if its weights have 8 bits, or if it is the file of a stream with
        another window.
        If `export.bundle` measured the thresholds of the file, `note` says with which recordings.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file contains no contract, or is damaged.
        ImportError: If the file is an ONNX file and ONNX Runtime is not installed.
    """
    path = pathlib.Path(path)
    if onnx_files.is_onnx(path):
        text = onnx_files.metadata(path).get(METADATA)
    elif path.is_dir():
        text = (path / ASSET).read_bytes() if (path / ASSET).is_file() else None
    else:
        text = _from_tflite(path)
    if text is None:
        raise ValueError(
            f"{path.name} contains no input contract. Add the layer "
            "`keras_dml.layers.InputContract` to the model, and export the model again."
        )
    try:
        return json.loads(text)
    except (RecursionError, ValueError):
        raise ValueError(
            f"{path.name} is damaged: its input contract is not JSON. Export the model again."
        ) from None


def _from_tflite(path):
    blob = path.read_bytes()
    try:
        return _flatbuffer.metadata(blob, METADATA)
    except Exception as error:  # a damaged FlatBuffer raises any error of struct and NumPy
        raise ValueError(
            f"{path.name} is damaged, or is not a .tflite file. Export the model again."
        ) from error


def contract_json(kind, distance, card, steps=None, window=None, quantization=None):
    """Returns the contract and the thresholds of a model as JSON, to be stored in a file.

    Args:
        kind: Input kind of the model (see `keras_dml.inputs`).
        distance: Name of the distance that the file computes.
        card: Card of the model, or None.
        steps: Number of time steps of the file's `signal`, or None for any number. The contract in
            the file does not allow longer recordings.
        window: Number of steps that an embedding of a stream describes. None if the embeddings of
            the file are the embeddings of whole recordings.
        quantization: Type of the file's weights, as in `export.tflite`.

    Returns:
        JSON as bytes, or None if the model has neither a contract nor a threshold.
    """
    values = {} if kind.contract is None else kind.contract.as_dict()
    if values and steps is not None:
        values["max_steps"] = min(steps, values["max_steps"] or steps)
    note = missing_thresholds(distance, card, window, quantization)
    if note is not None or _rows_by_distance(card):
        rows = thresholds(distance, card) if window is None else stream_thresholds(card, window)
        values |= {"distance": distance, "thresholds": rows}
        if note is not None:
            values |= {"thresholds": [], "note": note}
    return as_json(values) if values else None


def as_json(values):
    """Returns a contract as JSON, to be stored in a file."""
    return json.dumps(values, ensure_ascii=False).encode()


def stream_thresholds(card, window):
    """Returns the thresholds of a card for the embeddings of a stream.

    Args:
        card: Card of the model, or None.
        window: Number of steps that an embedding describes.
    """
    if not _rows_by_distance(card):
        return []
    rows = card.get("stream_thresholds", [])
    return [with_rule(row) for row in rows if row["window"] == window]


def missing_thresholds(distance, card, window=None, quantization=None):
    """Explains why a file contains no threshold although the card of its model has thresholds.

    Args:
        distance: Name of the distance that the file computes.
        card: Card of the model, or None.
        window: Same as in `contract_json`.
        quantization: Same as in `contract_json`.

    Returns:
        A sentence, or None if the file contains thresholds or the card has no thresholds.
    """
    if window is not None and _rows_by_distance(card):
        if stream_thresholds(card, window):
            return None
        return (
            f"The file contains no threshold, because the card has no threshold for streams with a "
            f"window of {window} steps. The other thresholds of the card apply if the state is "
            "zeros at the start of each recording."
        )
    card_distances = sorted({name for name, _ in _rows_by_distance(card)})
    if not card_distances:
        if card is None or schema.problems(card) or not card["thresholds"]:
            return None
        return (
            "The file contains no threshold. The file computes distances, but the thresholds of "
            f"the card apply to the scoring {scoring.card_scoring(card)!r}. Calibrate and export a "
            "gallery, or measure a threshold with distances that the file computes."
        )
    if distance in card_distances:
        if quantization not in EIGHT_BITS:
            return None
        return (
            "The file contains no threshold. Its weights have 8 bits, but the thresholds of the "
            "card were measured with float32 weights. Export float16 weights, or measure a "
            "threshold with distances that the file computes."
        )
    return (
        f"The file contains no threshold. It computes {distance or 'another distance'}, but "
        f"the thresholds of the card apply to the distance {', '.join(card_distances)}. Set a "
        "threshold from distances that the file computes, or export a calibrated gallery."
    )


def _rows_by_distance(card):
    """Returns a pair `(name of the distance, row)` for each threshold of a card.

    The `device_thresholds` of a card apply to the distance that a file for devices computes. A
    threshold of another scoring than `nearest` does not apply to distances.
    """
    if card is None or schema.problems(card):
        return []
    card = scoring.card_for(card, scoring.DEFAULT)
    rows = [(card["embedding"]["distance"], row) for row in card["thresholds"]]
    return rows + [(row["distance"], row) for row in card.get("device_thresholds", [])]


def thresholds(distance, card):
    """Returns the thresholds of a card for a distance.

    Args:
        distance: Name of the distance that the file computes.
        card: Card of the model, or None.

    Returns:
        List of dicts with `far`, `value`, `enrolled` if it is known, and `rule` as text.
    """
    return [with_rule(row) for name, row in _rows_by_distance(card) if name == distance]


def with_rule(row):
    """Returns the threshold of a card's row, with the decision rule in words."""
    return {**{key: row[key] for key in THRESHOLD if key in row}, "rule": _rule(row)}


def _rule(row):
    enrolled = row.get("enrolled")
    nearest = "an enrolled recording"
    if enrolled != 1:
        count = "all" if enrolled is None else f"about {enrolled}"
        nearest = f"the nearest of {count} enrolled recordings"
    return f"accept if the distance to {nearest} is at most {row['value']:.6g}"
