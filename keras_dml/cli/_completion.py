"""Shell completion: names of models and people, and paths, which Typer completes in some shells
only.
"""

import os
import pathlib

import typer

from keras_dml import zoo


def model_names(incomplete: str):
    """Names of the zoo's models that begin with the typed text."""
    return zoo.list_models(f"{incomplete}*")


def models(incomplete: str):
    """Names of models and paths of files, for commands that take either."""
    return [*model_names(incomplete), *paths(incomplete)]


def people(context: typer.Context, incomplete: str):
    """Names of the people of the gallery that is named before, which begin with the typed text."""
    from keras_dml import gallery

    try:
        names = gallery.people(context.params["gallery"])
    except Exception:  # no gallery, or one that is in use: the command says it
        return []
    return [name for name in names if name.startswith(incomplete)]


def people_or_paths(context: typer.Context, incomplete: str):
    """Names of the people of a gallery, and paths, for a command that takes either."""
    return [*people(context, incomplete), *paths(incomplete)]


def paths(incomplete: str):
    """Files and folders that begin with the typed text; a folder ends in a slash."""
    typed, start = os.path.split(incomplete)
    folder = pathlib.Path(typed or ".").expanduser()
    if not folder.is_dir():
        return []
    prefix = incomplete.removesuffix(start)
    return sorted(
        f"{prefix}{path.name}{'/' * path.is_dir()}"
        for path in folder.iterdir()
        if path.name.startswith(start) and (start or not path.name.startswith("."))
    )
