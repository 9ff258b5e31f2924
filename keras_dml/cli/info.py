"""Implements the command `keras-dml info GALLERY`, which prints facts about a gallery."""

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """Show facts about a gallery: model, numbers of people and recordings, date and thresholds.

    The command needs no model. The output contains neither names nor embeddings.

    Exit status: 0 if the facts are printed, 2 if not.

    Example: keras-dml info family.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console, thresholds

    with _answers.spell_messages():
        facts = galleries.info(gallery, **vars(access))
    names = ("path", "model", "fingerprint", "scoring", "created", "encrypted")
    counts = ("people", "recordings", "marked", "reading")
    if as_json:
        fields = {name: getattr(facts, name) for name in (*names, *counts)}
        _console.print_json({**fields, **thresholds.as_lists(facts)}, indent=2)
        return
    rows = [
        ("gallery", facts.path),
        ("model", facts.model or "none yet"),
        ("fingerprint", (facts.fingerprint or "none yet")[:16]),
        ("scoring", facts.scoring),
        ("created", facts.created or "unknown"),
        ("encrypted", "yes" if facts.encrypted else "no"),
        ("people", facts.people),
        ("recordings", facts.recordings),
        ("imposter recordings", facts.marked),
        ("reading options", _options.as_typed(facts.reading) or "none"),
        ("thresholds", _thresholds(facts)),
        ("listen thresholds", _rates(facts.boundaries)),
    ]
    _console.print_table((), rows, header=False)


def _thresholds(facts):
    """Returns the false accept rates of the thresholds in use, as text."""
    if facts.thresholds or not facts.provisional:
        return _rates(facts.thresholds)
    return f"none yet (provisional thresholds of the model's card: {_rates(facts.provisional)})"


def _rates(limits):
    return ", ".join(f"FAR {100 * far:g} %" for far in limits) or "none"
