"""Shell completion of models, people and paths, which Typer completes in some shells only."""

import os
import pathlib

import typer

from keras_dml import zoo


def complete_model_names(incomplete: str):
    """Returns the names of zoo models that begin with the typed text."""
    return zoo.list_models(f"{incomplete}*")


def complete_models(incomplete: str):
    """Returns names of models and paths, for commands that take either."""
    return [*complete_model_names(incomplete), *complete_paths(incomplete)]


def complete_people(context: typer.Context, incomplete: str):
    """Returns the people who are enrolled in the gallery named before, if the typed text fits."""
    from keras_dml import gallery

    try:
        names = gallery.people(context.params["gallery"])
    except Exception:  # completion is silent; the command itself reports the error
        return []
    return [name for name in names if name.startswith(incomplete)]


def complete_people_or_paths(context: typer.Context, incomplete: str):
    """Returns names of people and paths, for commands that take either."""
    return [*complete_people(context, incomplete), *complete_paths(incomplete)]


def complete_paths(incomplete: str):
    """Returns the files and folders that begin with the typed text. Folders end in a slash."""
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
