"""`keras-dml enroll GALLERY PERSON FILES...`: recordings of a person, stored as embeddings."""

import typer

from keras_dml.cli import _options, _statuses


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    files: _options.Files,
    model: _options.GalleryModel = None,
    channels: _options.Channels = None,
    rate_hz: _options.RateHz = None,
    resample: _options.Resample = False,
    time: _options.Time = None,
    time_unit: _options.TimeUnit = None,
    max_gap: _options.MaxGap = None,
    key: _options.Key = None,
    keys: _options.Keys = None,
    as_json: _options.AsJson = False,
):
    """Enroll recordings of a person, known or new, in a gallery, which is made if there is none.

    A recording is refused, with the reason, if the model does not take it, or if it is further from
    the person's others than the thresholds allow; of somebody new the largest group that is so near
    to each other is enrolled. A recording that is given twice or enrolled already counts once; one
    that is enrolled as somebody else is refused. The file of a gallery holds names, embeddings and
    thresholds, no recordings: personal data all the same.

    Exit status: 0 all are enrolled, now or before, 1 some were refused, 2 none is enrolled.

    Example: keras-dml enroll family.db alice alice/*.csv --model gait_qp_wl
    """
    from keras_dml.cli import _answers, _console, _galleries

    reading = _options.Reading(channels, rate_hz, resample, time, time_unit, max_gap)
    with _answers.answered():
        paths = _galleries.files(files)  # before a gallery is made for them
        with _galleries.opened(gallery, model, may_be_new=True, key=key, keys=keys) as opened:
            reader = _galleries.Reader(opened, reading)
            taken = _galleries.taken(reader, paths)
            enrollment = _galleries.enrolled(opened, person, paths, taken)
    kept, refused = enrollment.kept, enrollment.refused
    if as_json:
        _console.json_object(
            {
                "person": person,
                "kept": [str(paths[i]) for i in kept],
                "refused": {str(paths[i]): refused[i] for i in sorted(refused)},
                "repeated": {
                    str(paths[i]): None if first is None else str(paths[first])
                    for i, first in sorted(enrollment.repeated.items())
                },
                "enrolled": enrollment.recordings,
                "notes": reader.notes,
            }
        )
    else:
        _console.echo(
            f"{_console.plain(person)}: {len(kept)} of {len(paths)} files enrolled, "
            f"{enrollment.recordings} recordings in all"
        )
        for i, first in sorted(enrollment.repeated.items()):
            reason = "enrolled already" if first is None else f"the same as {paths[first]}"
            _console.echo(_console.plain(f"counts once: {paths[i]} is {reason}"))
        for i in sorted(refused):
            _console.echo(_console.plain(f"refused: {refused[i]}"))
    if not kept and not enrollment.repeated:
        raise typer.Exit(_statuses.ERROR)
    _statuses.answer(not refused)
