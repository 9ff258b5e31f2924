"""`keras-dml reject GALLERY PERSON FILES...`: recordings that are not a person's."""

from keras_dml.cli import _options


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
    """Reject recordings that were taken for a person: they are marked as not this person's.

    What is nearer to them than to the person's own is no longer accepted as this person. All files
    are marked or, if the model does not take one, none. `keras-dml remove` forgets what is marked
    with the person.

    Exit status: 0 marked, 2 nothing was done.

    Example: keras-dml reject family.db alice intruder.csv
    """
    from keras_dml.cli import _answers, _console, _galleries

    reading = _options.Reading(channels, rate_hz, resample, time, time_unit, max_gap)
    with _answers.answered(), _galleries.opened(gallery, model, key=key, keys=keys) as opened:
        recordings, notes = _galleries.observed(opened, files, reading)
        opened.reject(person, recordings)
    if as_json:
        _console.json_object({"person": person, "marked": len(recordings), "notes": notes})
    else:
        _console.echo(
            f"{_console.plain(person)}: {len(recordings)} recordings marked as not theirs"
        )
