"""What an exported file takes, and when its distances mean "the same": a JSON object inside it."""

import json
import os
import pathlib

from keras_dml.export import _flatbuffer
from keras_dml.zoo import schema

METADATA = "keras_dml.contract"  # its name in a .tflite file
THRESHOLD = ("far", "value", "enrolled")  # keys of a card's threshold
ASSET = pathlib.Path("assets.extra", "contract.json")  # in a SavedModel, beside its assets


def contract(path: str | os.PathLike) -> dict:
    """The input contract and the thresholds that an exported file carries; needs no TensorFlow.

    Args:
        path: A .tflite file, or the folder of a SavedModel.

    Returns:
        Dict: `channels`, `units`, `rate_hz`, `min_steps`, `max_steps` and `stddev_range`, as in
        `keras_dml.layers.InputContract`. If the model's card has thresholds, also `distance`, the
        name of the distance that the file computes, and `thresholds` of this distance, each with
        its false accept rate `far`, its `value` and its `rule` in words. If the card has no
        threshold of this distance, `thresholds` is empty and `note` says so.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file carries no contract.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        found = (path / ASSET).read_bytes() if (path / ASSET).is_file() else None
    else:
        found = _flatbuffer.metadata(path.read_bytes(), METADATA)
    if found is None:
        raise ValueError(
            f"{path.name} carries no input contract. Put a `keras_dml.layers.InputContract` into "
            "the model and export it again."
        )
    try:
        return json.loads(found)
    except (RecursionError, ValueError):
        raise ValueError(
            f"{path.name} carries an input contract that is not JSON: it is damaged. Export the "
            "model again."
        ) from None


def carried(taken, distance, card):
    """The JSON that a file of a model carries.

    Args:
        taken: What the model takes, one of `keras_dml.inputs`.
        distance: Name of the distance that the file computes.
        card: The card of the model, or None.

    Returns:
        Bytes, or None if there is neither a contract nor a threshold.
    """
    found = {} if taken.contract is None else taken.contract.as_dict()
    if _of_all_distances(card):
        found |= {"distance": distance, "thresholds": _thresholds(distance, card)}
        note = missing_thresholds(distance, card)
        if note is not None:
            found["note"] = note
    return json.dumps(found, ensure_ascii=False).encode() if found else None


def missing_thresholds(distance, card):
    """Says that a file carries no threshold although the card of its model has some.

    Args:
        distance: Name of the distance that the file computes.
        card: The card of the model, or None.

    Returns:
        A sentence, or None if the file carries thresholds or the card has none.
    """
    known = sorted({name for name, _ in _of_all_distances(card)})
    if not known or distance in known:
        return None
    return (
        f"The card's thresholds are of the distance {', '.join(known)}, and the file computes "
        f"{distance or 'another one'}: it carries no threshold. Set one from distances of the "
        "file, or export a calibrated gallery."
    )


def _of_all_distances(card):
    """`(name of its distance, row)` of all thresholds of a card; those of `device_thresholds` are
    of the distance that a file for devices computes."""
    if card is None or schema.problems(card):
        return []
    own = [(card["embedding"]["distance"], row) for row in card["thresholds"]]
    return own + [(row["distance"], row) for row in card.get("device_thresholds", [])]


def _thresholds(distance, card):
    return [
        {**{key: row[key] for key in THRESHOLD if key in row}, "rule": _rule(row)}
        for name, row in _of_all_distances(card)
        if name == distance
    ]


def _rule(row):
    enrolled = row.get("enrolled")
    nearest = "an enrolled recording"
    if enrolled != 1:
        count = "all" if enrolled is None else f"about {enrolled}"
        nearest = f"the nearest of {count} enrolled recordings"
    return f"accept where the distance to {nearest} is at most {row['value']:.6g}"
