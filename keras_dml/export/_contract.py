"""Input contract and thresholds of an exported file, stored as a JSON object inside the file."""

import json
import pathlib

from keras_dml._typing import Path
from keras_dml.export import _flatbuffer
from keras_dml.zoo import schema

METADATA = "keras_dml.contract"  # name of the metadata entry in a .tflite file
THRESHOLD = ("far", "value", "enrolled")  # keys of a card's threshold
ASSET = pathlib.Path("assets.extra", "contract.json")  # path inside a SavedModel


def contract(path: Path) -> dict:
    """Reads the input contract and the thresholds of an exported file, without TensorFlow.

    Args:
        path: A .tflite file, or the folder of a SavedModel.

    Returns:
        Dict: `channels`, `units`, `rate_hz`, `min_steps`, `max_steps` and `stddev_range`, as in
        `keras_dml.layers.InputContract`. If the model's card has thresholds, the dict also holds
        `distance`, the name of the distance that the file computes, and `thresholds` of this
        distance, each with its false accept rate `far`, its `value` and its `rule` in words. If the
        card has no threshold of this distance, `thresholds` is empty and `note` says so.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file carries no contract.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        text = (path / ASSET).read_bytes() if (path / ASSET).is_file() else None
    else:
        text = _flatbuffer.metadata(path.read_bytes(), METADATA)
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


def contract_json(kind, distance, card):
    """Returns the JSON that a file of a model carries.

    Args:
        kind: Input kind of the model, one of `keras_dml.inputs`.
        distance: Name of the distance that the file computes.
        card: The card of the model, or None.

    Returns:
        Bytes, or None if there is neither a contract nor a threshold.
    """
    values = {} if kind.contract is None else kind.contract.as_dict()
    if _rows_by_distance(card):
        values |= {"distance": distance, "thresholds": _thresholds(distance, card)}
        note = missing_thresholds(distance, card)
        if note is not None:
            values["note"] = note
    return json.dumps(values, ensure_ascii=False).encode() if values else None


def missing_thresholds(distance, card):
    """Explains why a file carries no threshold although the card of its model has thresholds.

    Args:
        distance: Name of the distance that the file computes.
        card: The card of the model, or None.

    Returns:
        A sentence, or None if the file carries thresholds or the card has none.
    """
    card_distances = sorted({name for name, _ in _rows_by_distance(card)})
    if not card_distances or distance in card_distances:
        return None
    return (
        f"The file contains no threshold: it computes {distance or 'another distance'}, and the "
        f"thresholds of the card are for the distance {', '.join(card_distances)}. Set a threshold "
        "from distances that the file computes, or export a calibrated gallery."
    )


def _rows_by_distance(card):
    """Returns `(name of its distance, row)` of each threshold of a card.

    `device_thresholds` hold for the distance that a file for devices computes.
    """
    if card is None or schema.problems(card):
        return []
    rows = [(card["embedding"]["distance"], row) for row in card["thresholds"]]
    return rows + [(row["distance"], row) for row in card.get("device_thresholds", [])]


def _thresholds(distance, card):
    return [
        {**{key: row[key] for key in THRESHOLD if key in row}, "rule": _rule(row)}
        for name, row in _rows_by_distance(card)
        if name == distance
    ]


def _rule(row):
    enrolled = row.get("enrolled")
    nearest = "an enrolled recording"
    if enrolled != 1:
        count = "all" if enrolled is None else f"about {enrolled}"
        nearest = f"the nearest of {count} enrolled recordings"
    return f"accept if the distance to {nearest} is at most {row['value']:.6g}"
