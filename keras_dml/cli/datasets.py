"""`keras-dml datasets`: the data sets, which are prepared, and which archives are missing."""

import pathlib
from typing import Annotated

from keras_dml.cli import _options


def run(
    manual_dir: Annotated[
        pathlib.Path | None,
        _options.folder("--manual-dir", "Folder with archives, or with a folder NAME of each."),
    ] = None,
    data_dir: _options.DataDir = None,
    as_json: _options.AsJson = False,
):
    """List the data sets: people, size, license, what is prepared and what is missing.

    Looks where TensorFlow Datasets keeps its own when no folder is given. Size and people are those
    of the whole set; a part of it is accepted too.

    Example: keras-dml datasets --manual-dir ~/Downloads
    """
    from keras_dml.cli import _console, _extras

    _extras.require_data("The list of data sets")
    from tfds_builders.inventory import inventory

    found = inventory(manual_dir, data_dir)
    if manual_dir is not None and not manual_dir.expanduser().is_dir():
        _console.note(f"There is no folder {_console.plain(manual_dir)}.")
    if as_json:
        _console.json_object(found)
        return
    rows = [
        (
            name,
            f"{of['people']:,}" if of["people"] else "–",
            of["size"],
            of["license"],
            [*_lines(of["configs"])],
        )
        for name, of in found.items()
    ]
    _console.table(("name", "people", "size", "license", "here"), rows)
    for title, key in (("Missing", "missing"), ("Not usable", "problem")):
        told = dict.fromkeys(
            (name, config[key])
            for name, of in found.items()
            for config in of["configs"].values()
            if config[key] and not config["prepared"]
        )
        if told:
            _console.echo(f"\n[bold]{title}[/bold]")
            _console.table((), list(told), header=False)
    _console.echo("\nPrepare one: python -m tfds_builders.build NAME --manual-dir DIR")


def _lines(configs):
    """What is there of a data set, configs in the same state in one line."""
    states = {}
    for name, config in configs.items():
        states.setdefault(_state(config), []).append(name)
    for state, names in states.items():
        yield state if len(states) == 1 else f"{state}: {', '.join(names)}"


def _state(config):
    if config["prepared"]:
        return "prepared"
    if config["archive"]:
        return "archive is there"
    return "not usable" if config["problem"] else "missing"
