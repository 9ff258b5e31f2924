"""Implements the command `keras-dml verify GALLERY PERSON FILES...`, which verifies a claimed
person.
"""

from keras_dml.cli import _options, _statuses


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    files: _options.Files,
    far: _options.Far = None,
    threshold: _options.Threshold = None,
    options: _options.GalleryOptions = _options.GalleryOptions(),
    scores: _options.Scores = False,
    distances: _options.Distances = False,
    as_json: _options.AsJson = False,
) -> None:
    """Decide whether recordings are of a claimed person, and accept or reject the claim.

    If several files are given, they must contain recordings that were made at the same time. The
    command makes one decision for all files together. Until `keras-dml calibrate` sets a threshold,
    the command uses the provisional threshold of the model's card. With --scores, the command also
    prints the closeness, which is 100 for identical recordings and 0 for the usual distance between
    two people.

    The false accept rate of a threshold is the rate for one try. If a person may try three times,
    false claims are accepted up to three times as often. `keras-dml card MODEL` shows the measured
    rates. After several rejected claims to be one person, a pause begins, in which the command
    refuses such claims. Each further rejected claim doubles the pause, up to an hour.

    Exit status: 0 if accepted, 1 if rejected, 2 without a decision, such as during a pause.

    Example: keras-dml verify family.db alice new.csv
    """
    from keras_dml.cli import _answers, _console, _galleries

    with _answers.spell_messages():
        needs = _galleries.decision_requirements(person, far=far, threshold=threshold)
        with _galleries.open_gallery(
            gallery, options.model, options.access, engine=options.engine, paths=files, needs=needs
        ) as opened_gallery:
            recordings, notes = _galleries.read_probe(opened_gallery, files, options.reading)
            decision = opened_gallery.verify(person, recordings, far=far, threshold=threshold)
    if as_json:
        names = ("accepted", "person", "far", "extrapolated", "provisional")
        fields = {name: getattr(decision, name) for name in names}
        if scores or distances:
            fields |= {
                "score": _answers.round_score(decision.score),
                "closeness": _answers.round_score(decision.closeness),
                "threshold": _answers.round_score(decision.threshold),
                "denied": decision.denied,
            }
        _console.print_json({**fields, "notes": notes})
    else:
        _console.echo(_console.escape(decision.in_words(distances, scores=scores or distances)))
        if scores and decision.scale is not None and not distances:
            _console.echo(f"distance {decision.score:.4g}, threshold {decision.threshold:.4g}")
    _statuses.exit_with_answer(decision.accepted)
