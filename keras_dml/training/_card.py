"""The card of a trained model, from what is known beforehand and what a run found out."""

import contextlib
import datetime
import importlib.metadata
import platform

SHIPPED = ("keras", "numpy", "tensorflow", "tensorflow-cpu", "jax")


def build_card(
    about,
    *,
    headline,
    figures,
    recipe,
    baselines=(),
    thresholds=(),
    device_thresholds=(),
    data=None,
    **facts,
):
    """A card without what `publish` reads from the model.

    Args:
        about: Dict of the card's static part: `name`, `task`, `paper`, `input`, `data`, `limits`
            and, if wanted, `figures_are`. Its texts may name facts in braces, as `str.format`
            does: `"{images:,} images"`.
        headline: The card's `headline`.
        figures: Rows of the card's `figures`.
        recipe: The card's `recipe`, see `training_record`.
        baselines: Entries of the card's `baselines`.
        thresholds: Rows of the card's `thresholds`; left out where the card's `test_subjects` are
            nobody, since thresholds need people whom the model has never seen.
        device_thresholds: Rows of the card's `device_thresholds`, of a model whose files for
            devices compute another distance.
        data: Further keys of the card's `data`, such as `train_subjects`.
        **facts: Values of the names in braces.

    Returns:
        Dict by `keras_dml.zoo.schema.CARD`.

    Raises:
        KeyError: If a text names a fact that is not given.

    Example:
        >>> about = {"limits": ["{people} people."], "data": {"builder": "gait"}}
        >>> card = build_card(about, headline={}, figures=[], recipe={}, people=3)
        >>> card["limits"]
        ['3 people.']
    """
    card = _filled(about, facts)
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


def training_record(command, *, seed, minutes):
    """The card's `recipe`: how to train the model again, and with what it was trained today.

    Args:
        command: Command that trains and publishes it.
        seed: Seed of weights and batches.
        minutes: Minutes of training.
    """
    return {
        "command": command,
        "seed": seed,
        "versions": versions(),
        "date": datetime.date.today().isoformat(),
        "minutes": round(minutes, 1),
    }


def export_row(made, figure, change, of_distance=None):
    """An entry of a card's `exports`.

    Args:
        made: `keras_dml.export.Export`.
        figure: By what the model is measured, `"auc"` or `"accuracy"`.
        change: Change of that figure by the file; None where it is not known.
        of_distance: Change by the distance that a device compares by, where it is another one.
    """
    row = {
        "format": made.format,
        "quantization": made.quantization,
        "bytes": made.bytes,
        "latency_ms": round(made.latency_ms, 3),
        "drift": float(f"{made.drift:.2g}"),
        f"{figure}_change": None if change is None else round(float(change), 5) + 0.0,
    }
    if of_distance is not None:
        row["change_of_distance"] = round(float(of_distance), 5)
    return row


def versions():
    """Versions of what a model depends on, for the card's `recipe`."""
    found = {"python": platform.python_version()}
    for name in SHIPPED:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _filled(value, facts):
    """The value with facts in all its texts."""
    if isinstance(value, dict):
        return {key: _filled(part, facts) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, facts) for part in value]
    return value.format(**facts) if isinstance(value, str) else value
