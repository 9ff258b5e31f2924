"""`keras-dml recordings GALLERY PERSON`: the recordings enrolled of a person."""

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
):
    """List the recordings enrolled of a person: the time of enrollment and the id of each.

    It needs no model. `keras-dml forget` takes an id. A gallery does not keep the names of files.

    Exit status: 0 listed, 2 not.

    Example: keras-dml recordings family.db alice
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.answered():
        stored = galleries.list_recordings(gallery, person, **vars(access))
    if as_json:
        entries = [{"id": each.id, "enrolled": each.created} for each in stored]
        _console.json_object({"person": person, "recordings": entries})
    elif stored:
        _console.table(("id", "enrolled"), stored)
    else:
        _console.echo("No recording is enrolled.")
