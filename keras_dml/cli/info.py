"""`keras-dml info GALLERY`: facts about a gallery."""

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
):
    """Show facts about a gallery: model, numbers of people and recordings, date, thresholds.

    It needs no model, and shows neither names nor embeddings.

    Exit status: 0 shown, 2 not.

    Example: keras-dml info family.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console, thresholds

    with _answers.answered():
        facts = galleries.info(gallery, **vars(access))
    names = ("path", "model", "fingerprint", "created", "encrypted")
    counts = ("people", "recordings", "marked", "reading")
    if as_json:
        fields = {name: getattr(facts, name) for name in (*names, *counts)}
        _console.json_object({**fields, **thresholds.as_lists(facts)}, indent=2)
        return
    options = [f"{name} {_shown(value)}" for name, value in facts.reading.items()]
    rows = [
        ("gallery", facts.path),
        ("model", facts.model or "none yet"),
        ("fingerprint", (facts.fingerprint or "none yet")[:16]),
        ("created", facts.created or "unknown"),
        ("encrypted", "yes" if facts.encrypted else "no"),
        ("people", facts.people),
        ("recordings", facts.recordings),
        ("marked as not theirs", facts.marked),
        ("files are read by", ", ".join(options) or "what they say"),
        ("thresholds", _thresholds(facts)),
        ("boundaries", _rates(facts.boundaries)),
    ]
    _console.table((), rows, header=False)


def _thresholds(facts):
    """Returns the rates of the thresholds that decide."""
    if facts.thresholds or not facts.provisional:
        return _rates(facts.thresholds)
    return f"none; until `keras-dml calibrate` the model's card: {_rates(facts.provisional)}"


def _shown(value):
    return ",".join(value) if isinstance(value, list) else value


def _rates(limits):
    return ", ".join(f"FAR {100 * far:g} %" for far in limits) or "none"
