"""Implements the command `keras-dml rename GALLERY PERSON NAME`, which renames a person."""

from typing import Annotated

import typer

from keras_dml.cli import _options

NAMES = _options.GALLERY_NAMES | {"name": "NAME"}


def run(
    gallery: _options.Gallery,
    person: _options.Person,
    name: Annotated[str, typer.Argument(help="The new name.", show_default=False)],
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """Rename a person of a gallery.

    Recordings and thresholds are not changed, and no model is needed. The command refuses a name
    that another enrolled person has.

    Exit status: 0 if the person is renamed, 2 if nothing is changed.

    Example: keras-dml rename family.db alice "Alice B."
    """
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.spell_messages(NAMES):
        galleries.rename(gallery, person, name, **vars(access))
    if as_json:
        _console.print_json({"renamed": person, "name": name})
        return
    _console.echo(_console.escape(f"{person} is now {name}"))
