"""`keras-dml rename GALLERY PERSON NAME`: gives a person another name."""

from typing import Annotated

import typer

from keras_dml.cli import _options


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    name: Annotated[str, typer.Argument(help="The new name.", show_default=False)],
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
):
    """Give a person of a gallery another name. Recordings and thresholds stay as they are.

    It needs no model. A name that another person has is refused.

    Exit status: 0 renamed, 2 not.

    Example: keras-dml rename family.db alice "Alice B."
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console, _words

    with _answers.answered(), _words.of_commands({"`name`": "NAME"}):
        galleries.rename(gallery, person, name, **vars(access))
    if as_json:
        _console.json_object({"renamed": person, "name": name})
        return
    _console.echo(_console.plain(f"{person} is now {name}"))
