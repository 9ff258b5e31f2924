"""`keras-dml people GALLERY`: who is enrolled."""

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
):
    """List the people of a gallery, with the number of their recordings.

    Exit status: 0 listed, 2 not.

    Example: keras-dml people family.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.answered():
        found = galleries.people(gallery, **vars(access))
    if as_json:
        _console.json_object(found)
    elif found:
        _console.table(("person", "recordings"), list(found.items()))
    else:
        _console.echo("Nobody is enrolled.")
