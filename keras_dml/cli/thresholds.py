"""`keras-dml thresholds GALLERY`: the thresholds of a gallery."""

import dataclasses

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
):
    """List the thresholds that `keras-dml calibrate` set, and the boundaries of `keras-dml listen`.

    It needs no model. The smallest rate decides if a command has no --far.

    Exit status: 0 listed, 2 not.

    Example: keras-dml thresholds family.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.answered():
        facts = galleries.info(gallery, **vars(access))
    if as_json:
        _console.json_object(as_lists(facts))
        return
    for limit in [*facts.thresholds.values(), *facts.boundaries.values()]:
        _console.echo(_console.plain(limit))
    if not facts.thresholds and not facts.boundaries:
        _console.echo("No threshold is set: `keras-dml calibrate` sets one.")
    if not facts.thresholds and facts.provisional:
        _console.echo("Until then those of the model's card decide, of other people:")
        for limit in facts.provisional.values():
            _console.echo(_console.plain(limit))


def as_lists(facts):
    """Thresholds and boundaries of a `GalleryInfo` as JSON holds them.

    Returns:
        `{"thresholds": [...], "boundaries": [...], "provisional": [...]}`, with the smallest rate
        first; `provisional` are the thresholds of the model's card.
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
