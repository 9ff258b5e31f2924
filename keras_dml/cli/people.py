"""Implements the command `keras-dml people GALLERY`, which lists the enrolled people."""

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """List the people of a gallery, with the number of recordings of each person.

    Exit status: 0 if the people are listed, 2 if not.

    Example: keras-dml people family.db
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.spell_messages():
        counts = galleries.people(gallery, **vars(access))
    if as_json:
        _console.print_json(counts)
    elif counts:
        _console.print_table(("person", "recordings"), list(counts.items()))
    else:
        _console.echo("Nobody is enrolled.")
