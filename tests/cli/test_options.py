"""Tests that fields of a dataclass become options of a command."""

import dataclasses
import inspect
from typing import Annotated

import typer
from typer.testing import CliRunner

from keras_dml.cli import _options


@dataclasses.dataclass(frozen=True)
class Inner:
    rate: Annotated[float | None, typer.Option("--rate")] = None


@dataclasses.dataclass(frozen=True)
class Outer:
    inner: Inner = Inner()
    name: Annotated[str, typer.Option("--name")] = "none"


def command(file: str, outer: Outer, as_json: Annotated[bool, typer.Option("--json")] = False):
    """Prints its arguments."""
    print(file, outer, as_json)


def test_fields_of_a_dataclass_become_options():
    names = list(inspect.signature(_options.expand_dataclasses(command)).parameters)
    assert names == ["file", "rate", "name", "as_json"]


def test_a_command_receives_the_dataclass():
    app = typer.Typer()
    app.command()(_options.expand_dataclasses(command))
    result = CliRunner().invoke(app, ["a.csv", "--rate", "50", "--json"])
    assert result.output == f"a.csv {Outer(Inner(50.0))} True\n"


def test_a_command_receives_the_defaults():
    app = typer.Typer()
    app.command()(_options.expand_dataclasses(command))
    assert CliRunner().invoke(app, ["a.csv"]).output == f"a.csv {Outer()} False\n"
