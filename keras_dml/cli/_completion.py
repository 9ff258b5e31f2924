"""Completes names of models, names of people, and paths in a shell.

The module completes paths itself, because Typer completes paths only in some shells.
"""

import os
import pathlib

import typer

from keras_dml import zoo


def complete_model_names(incomplete: str):
    """Returns the names of zoo models that begin with the text typed so far."""
    return zoo.list_models(f"{incomplete}*")


def complete_models(incomplete: str):
    """Completes names of zoo models and paths, for commands that accept either."""
    return [*complete_model_names(incomplete), *complete_paths(incomplete)]


def complete_people(context: typer.Context, incomplete: str):
    """Returns the enrolled people whose names begin with the text typed so far.

    The function reads the gallery that the user typed earlier on the command line.
    """
    from keras_dml import gallery

    try:
        names = gallery.people(context.params["gallery"])
    except Exception:  # completion prints no errors; the command itself reports this error
        return []
    return [name for name in names if name.startswith(incomplete)]


def complete_people_or_paths(context: typer.Context, incomplete: str):
    """Completes names of people and paths, for commands that accept either."""
    return [*complete_people(context, incomplete), *complete_paths(incomplete)]


def complete_paths(incomplete: str):
    """Returns files and folders that begin with the text typed so far. Folders end in a slash."""
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
