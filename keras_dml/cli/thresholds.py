"""`keras-dml thresholds GALLERY`: the thresholds of a gallery."""

import dataclasses

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    key: _options.Key = None,
    keys: _options.Keys = None,
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
        facts = galleries.info(gallery, key=key, keys=keys)
    if as_json:
        _console.json_object(as_lists(facts))
        return
    for limit in [*facts.thresholds.values(), *facts.boundaries.values()]:
        _console.echo(_console.plain(limit))
    if not facts.thresholds and not facts.boundaries:
        _console.echo("No threshold is set: `keras-dml calibrate` sets one.")


def as_lists(facts):
    """Thresholds and boundaries of a `GalleryInfo` as JSON holds them.

    Returns:
        `{"thresholds": [...], "boundaries": [...]}`, with the smallest rate first.
    """
    limits = []
    for threshold in facts.thresholds.values():
        groups = [group._asdict() for group in threshold.groups]
        extrapolated = threshold.extrapolated
        fields = dataclasses.asdict(threshold)
        limits.append({**fields, "groups": groups, "extrapolated": extrapolated})
    boundaries = [dataclasses.asdict(boundary) for boundary in facts.boundaries.values()]
    return {"thresholds": limits, "boundaries": boundaries}
