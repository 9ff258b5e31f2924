"""Builds the card of a trained model from fixed texts and measured figures."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import platform
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_dml.export import Export

PACKAGES = ("keras", "numpy", "tensorflow", "tensorflow-cpu", "jax")


def build_card(
    about: dict[str, Any],
    *,
    headline: dict[str, Any],
    figures: list[Any],
    recipe: dict[str, Any],
    baselines: Iterable[dict[str, Any]] = (),
    thresholds: Iterable[dict[str, Any]] = (),
    device_thresholds: Iterable[dict[str, Any]] = (),
    data: dict[str, Any] | None = None,
    **facts: Any,
) -> dict[str, Any]:
    """Builds a card without the entries that `publish` reads from the model.

    Args:
        about: Fixed part of the card: `name`, `task`, `paper`, `input`, `data`, `limits` and
            optionally `figures_are`. The texts may contain names of facts in braces, as in
            `"{images:,} images"` for `str.format`.
        headline: The card's `headline`.
        figures: Rows of the card's `figures`.
        recipe: The card's `recipe`, such as the result of `training_record`.
        baselines: Entries of the card's `baselines`.
        thresholds: Rows of the card's `thresholds`. Thresholds need people whose recordings were
            not used in training. If the card's `test_subjects` is an empty list, the card therefore
            omits these rows.
        device_thresholds: Rows of the card's `device_thresholds`. These rows are needed if the
            exported files and the model compute different distances.
        data: Further keys of the card's `data`, such as `train_subjects`.
        **facts: Values that replace the names in braces.

    Returns:
        Card, a dict that follows `keras_dml.zoo.schema.CARD`.

    Raises:
        KeyError: If a text contains the name of a fact that is not in `facts`.

    Example:
        >>> about = {"limits": ["{people} people."], "data": {"builder": "gait"}}
        >>> card = build_card(about, headline={}, figures=[], recipe={}, people=3)
        >>> card["limits"]
        ['3 people.']
    """
    card = _format_texts(about, facts)
    card["data"] |= data or {}
    if card["data"].get("test_subjects") == []:
        thresholds = ()
    device = {"device_thresholds": list(device_thresholds)} if device_thresholds else {}
    return {
        **card,
        **device,
        "headline": headline,
        "figures": figures,
        "baselines": list(baselines),
        "thresholds": list(thresholds),
        "recipe": recipe,
    }


def training_record(command: str, *, seed: int, minutes: float) -> dict[str, Any]:
    """Returns the card's `recipe`: the training command, the seed, the versions and the date.

    Args:
        command: Command that trains and publishes the model.
        seed: Seed of the weights and of the batches.
        minutes: Duration of the training in minutes.
    """
    return {
        "command": command,
        "seed": seed,
        "versions": versions(),
        "date": datetime.date.today().isoformat(),
        "minutes": round(minutes, 1),
    }


def export_row(
    exported: Export, figure: str, change: float | None, by_distance: float | None = None
) -> dict[str, Any]:
    """Returns an entry of a card's `exports`.

    Args:
        exported: The exported file.
        figure: Name of the figure whose change is stored: `"auc"` or `"accuracy"`.
        change: Figure of the exported file minus the figure of the Keras model, both with the
            distance of the file. If the change is unknown, `change` is None.
        by_distance: Change in the figure of the Keras model if the model uses the distance of the
            file. None if the model and the file have the same distance.
    """
    row = {
        "format": exported.format,
        "quantization": exported.quantization,
        "bytes": exported.bytes,
        "latency_ms": round(exported.latency_ms, 3),
        "drift": float(f"{exported.drift:.2g}"),
        f"{figure}_change": None if change is None else round(float(change), 5) + 0.0,
    }
    if by_distance is not None:
        row["change_of_distance"] = round(float(by_distance), 5)
    return row


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages that a model depends on."""
    result = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            result[name] = importlib.metadata.version(name)
    return result


def _format_texts(value, facts):
    """Replaces each name in braces by its value from `facts`, in all texts of a nested
    structure."""
    if isinstance(value, dict):
        return {key: _format_texts(part, facts) for key, part in value.items()}
    if isinstance(value, list):
        return [_format_texts(part, facts) for part in value]
    return value.format(**facts) if isinstance(value, str) else value
