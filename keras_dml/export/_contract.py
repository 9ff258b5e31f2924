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
        `keras_dml.layers.InputContract`; of a model with thresholds on its card `distance` and
        `thresholds`, each with its false accept rate `far`, its `value` and its `rule` in words.

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
    return json.loads(found)


def carried(taken, metric, card):
    """The JSON that a file of a model carries.

    Args:
        taken: What the model takes, one of `keras_dml.inputs`.
        metric: The distance that the file computes.
        card: The card of the model, or None.

    Returns:
        Bytes; None where there is neither a contract nor a threshold.
    """
    found = {} if taken.contract is None else taken.contract.as_dict()
    thresholds = _thresholds(metric, card)
    if thresholds:
        found |= {"distance": card["embedding"]["distance"], "thresholds": thresholds}
    return json.dumps(found, ensure_ascii=False).encode() if found else None


def _thresholds(metric, card):
    """Those of the card, if they are of the distance of the file."""
    if card is None or schema.problems(card) or card["embedding"]["distance"] != metric.name:
        return []
    return [
        {**{key: row[key] for key in THRESHOLD if key in row}, "rule": _rule(row)}
        for row in card["thresholds"]
    ]


def _rule(row):
    enrolled = row.get("enrolled")
    nearest = "an enrolled recording"
    if enrolled != 1:
        count = "all" if enrolled is None else f"about {enrolled}"
        nearest = f"the nearest of {count} enrolled recordings"
    return f"accept where the distance to {nearest} is at most {row['value']:.6g}"
