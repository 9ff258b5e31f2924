"""Implements the command `keras-dml datasets`, which lists data sets, prepared files and missing
archives.
"""

import pathlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from keras_dml.cli import _options


def run(
    manual_dir: Annotated[
        pathlib.Path | None,
        _options.folder("--manual-dir", "Folder with archives, or with a subfolder per data set."),
    ] = None,
    data_dir: _options.DataDir = None,
    imports: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PACKAGE",
            help="Python package with more data sets. The option may be repeated.",
        ),
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """List the data sets with people, size, license, prepared files and missing archives.

    Without folders, the command searches the folder of TensorFlow Datasets. Size and number of
    people describe the complete data set. Archives with only a part of the data set are accepted
    too.

    Example: keras-dml datasets --manual-dir ~/Downloads
    """
    from keras_dml.cli import _console, _extras

    _extras.require_data("The list of data sets")
    import tfds_builders
    from tfds_builders.inventory import inventory

    for package in imports or ():
        try:
            tfds_builders.add_package(package)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--imports") from None
    datasets = inventory(manual_dir, data_dir)
    if manual_dir is not None and not manual_dir.expanduser().is_dir():
        _console.note(f"The folder {_console.escape(manual_dir)} does not exist.")
    if as_json:
        _console.print_json(datasets)
        return
    rows = [
        (
            name,
            f"{dataset['people']:,}" if dataset["people"] else "–",
            dataset["size"],
            dataset["license"],
            [*_lines(dataset["configs"])],
        )
        for name, dataset in datasets.items()
    ]
    _console.print_table(("name", "people", "size", "license", "here"), rows)
    for title, key in (("Missing", "missing"), ("Not usable", "problem")):
        reasons = dict.fromkeys(
            (name, config[key])
            for name, dataset in datasets.items()
            for config in dataset["configs"].values()
            if config[key] and not config["prepared"]
        )
        if reasons:
            _console.echo(f"\n[bold]{title}[/bold]")
            _console.print_table((), list(reasons), header=False)
    _console.echo("\nTo prepare a data set: python -m tfds_builders.build NAME --manual-dir DIR")


def _lines(configs: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yields lines with the state of a data set. Configurations in the same state share a line."""
    names_by_state: dict[str, list[str]] = {}
    for name, config in configs.items():
        names_by_state.setdefault(_state(config), []).append(name)
    for state, names in names_by_state.items():
        yield state if len(names_by_state) == 1 else f"{state}: {', '.join(names)}"


def _state(config: Mapping[str, Any]) -> str:
    if config["prepared"]:
        return "prepared"
    if config["archive"]:
        return "archive is there"
    return "not usable" if config["problem"] else "missing"
