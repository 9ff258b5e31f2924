"""`keras-dml verify GALLERY PERSON FILES...`: are the recordings a person's?"""

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
):
    """Verify that recordings are a person's: accepted or rejected.

    Several files are of one moment and decided on together. They are accepted if they are close
    enough: 100 is as close as the same recording, 0 as far as other people usually are. Until
    `keras-dml calibrate` sets a threshold, that of the model's card decides, which is provisional.

    The rate of a threshold is that of one try. If a person may try three times, false claims are
    accepted up to three times as often; `keras-dml card MODEL` says how often. After some rejected
    claims of a person there is a pause, which each further one doubles: up to an hour.

    Exit status: 0 accepted, 1 rejected, 2 no decision or a pause.

    Example: keras-dml verify family.db alice new.csv
    """
    from keras_dml.cli import _answers, _console, _galleries

    with _answers.answered():
        needs = _galleries.needs(person, far=far, threshold=threshold)
        with _galleries.opened(
            gallery, options.model, options.access, paths=files, needs=needs
        ) as opened:
            recordings, notes = _galleries.observed(opened, files, options.reading)
            found = opened.verify(person, recordings, far=far, threshold=threshold)
    if as_json:
        names = ("accepted", "person", "far", "extrapolated", "provisional")
        fields = {name: getattr(found, name) for name in names}
        if scores or distances:
            fields |= {
                "score": _answers.score(found.score),
                "closeness": _answers.score(found.closeness),
                "threshold": _answers.score(found.threshold),
                "denied": found.denied,
            }
        _console.json_object({**fields, "notes": notes})
    else:
        _console.echo(_console.plain(found.in_words(distances, scores=scores or distances)))
        if scores and found.scale is not None and not distances:
            _console.echo(f"distance {found.score:.4g}, threshold {found.threshold:.4g}")
    _statuses.answer(found.accepted)
