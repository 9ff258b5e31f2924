"""`keras-dml remove GALLERY PERSON`: forgets a person."""

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    key: _options.Key = None,
    keys: _options.Keys = None,
    as_json: _options.AsJson = False,
):
    """Remove a person and all that is stored of them; no byte of it stays in the gallery's files.

    It needs no model. Copies of the file, such as backups, are yours to delete.

    Exit status: 0 removed, 2 there is nobody of this name, or it could not be done.

    Example: keras-dml remove family.db bob
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    stopped = "Stopped. `keras-dml people` says who is still there."
    with _console.stoppable(stopped), _answers.answered():
        galleries.remove(gallery, person, key=key, keys=keys)
        left = len(galleries.people(gallery, key=key, keys=keys))
    if as_json:
        _console.json_object({"removed": person, "people": left})
    else:
        _console.echo(f"{_console.plain(person)} removed, {left} left")
