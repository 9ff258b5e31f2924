"""Implements the command `keras-dml thresholds GALLERY`, which lists thresholds of a gallery."""

import dataclasses
from typing import Any

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """List the calibrated thresholds of a gallery, including the thresholds of `keras-dml listen`.

    The command needs no model. Without --far, decisions use the threshold for the smallest rate.

    Exit status: 0 if the thresholds are listed, 2 if not.

    Example: keras-dml thresholds family.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.spell_messages():
        facts = galleries.info(gallery, **vars(access))
    if as_json:
        _console.print_json(as_lists(facts))
        return
    for limit in [*facts.thresholds.values(), *facts.boundaries.values()]:
        _console.echo(_console.escape(limit))
    if not facts.thresholds and not facts.boundaries:
        _console.echo("No threshold is set. Run `keras-dml calibrate` to set one.")
    if not facts.thresholds and facts.provisional:
        _console.echo("Until then, decisions use the provisional thresholds of the model's card:")
        for limit in facts.provisional.values():
            _console.echo(_console.escape(limit))


def as_lists(facts: Any) -> dict[str, list[dict[str, Any]]]:
    """Converts the thresholds of a `GalleryInfo` to objects for JSON.

    Returns:
        Dict `{"thresholds": [...], "boundaries": [...], "provisional": [...]}` of lists that are
        sorted by rate. The list `boundaries` has the thresholds of `keras-dml listen`, and
        `provisional` has the thresholds of the model's card.
    """
    return {
        "thresholds": [_fields(threshold) for threshold in facts.thresholds.values()],
        "boundaries": [dataclasses.asdict(boundary) for boundary in facts.boundaries.values()],
        "provisional": [_fields(threshold) for threshold in facts.provisional.values()],
    }


def _fields(threshold):
    groups = [group._asdict() for group in threshold.groups]
    extrapolated = threshold.extrapolated
    return {**dataclasses.asdict(threshold), "groups": groups, "extrapolated": extrapolated}
