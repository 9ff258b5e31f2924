"""Implements the command `keras-dml card NAME`, which prints the card of a model."""

import operator
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options


def run(
    name: Annotated[
        str,
        typer.Argument(
            help="Name from `keras-dml list`, or a folder with a model.",
            autocompletion=_completion.complete_models,
        ),
    ],
    as_json: _options.AsJson = False,
) -> None:
    """Show the card of a model: input, data, license, error rates, thresholds and limits.

    Example: keras-dml card gait_qp_wl
    """
    from keras_dml import zoo
    from keras_dml.cli import _console, _models
    from keras_dml.zoo import catalog, headline

    card = zoo.card(_models.resolve(name))
    if as_json:
        _console.print_json(card, indent=2)
        return
    _console.echo(f"[bold]{_console.escape(card['name'])}[/bold]: {_console.escape(card['task'])}")
    _console.print_table((), _facts(card), header=False)
    _console.echo(f"\n[bold]Main result[/bold]\n{_console.escape(headline.words(card))}")
    columns, rows = headline.table(card, operator.itemgetter("name"))
    if rows:
        _console.print_table(columns, rows)
    for baseline in card["baselines"]:
        _console.echo(f"- {_console.escape(headline.described(baseline))}")
    if card["figures"]:
        _console.echo(
            "\n[bold]Further figures[/bold] (value ± standard error, or \\[95 % interval])"
        )
        if "figures_are" in card:
            _console.echo(_console.escape(card["figures_are"]))
        _console.print_table(
            ("protocol", "n", "fraction", "setting", "metric", "value", "trials"), _figures(card)
        )
    if card["thresholds"]:
        _console.echo("\n[bold]Thresholds[/bold]")
        _console.print_table(
            ("accept distances up to", "FAR", "FAR, 95 % interval", "TAR", "imposter trials"),
            _thresholds(card["thresholds"]),
        )
    if rows_of_tries := [row for row in card["thresholds"] if "best_of_tries" in row]:
        count = rows_of_tries[0]["best_of_tries"]["tries"]
        _console.echo(f"\n[bold]If a person may try {count} times[/bold]")
        _console.print_table(catalog.TRIES, map(catalog.tries_in_words, rows_of_tries))
    if card.get("device_thresholds"):
        name = card["device_thresholds"][0]["distance"]
        _console.echo(f"\n[bold]Thresholds of files for devices[/bold] ({name} distance)")
        _console.print_table(
            ("accept distances up to", "FAR", "FAR, 95 % interval", "TAR", "imposter trials"),
            _thresholds(card["device_thresholds"]),
        )
    if card.get("stream_thresholds"):
        steps = card["stream_thresholds"][0]["window"]
        _console.echo(f"\n[bold]Thresholds of streams[/bold] (windows of {steps:,} steps)")
        _console.print_table(
            ("accept distances up to", "FAR", "FAR, 95 % interval", "TAR", "imposter trials"),
            _thresholds(card["stream_thresholds"]),
        )
    if card["exports"]:
        _console.echo("\n[bold]Exports[/bold]")
        columns = ("format", "numbers", "bytes", "latency (ms)", "change in figure")
        _console.print_table(columns, _exports(card))
    _console.echo("\n[bold]Limits[/bold]")
    for limit in card["limits"]:
        _console.echo(f"- {_console.escape(limit)}")


def _facts(card):
    from keras_dml.zoo import catalog, products

    contract, data, recipe = card["input"], card["data"], card["recipe"]
    units = ", ".join(dict.fromkeys(contract["units"]))
    p = f", p = {card['embedding']['p']:g}" if card["embedding"].get("p") else ""
    shape = " × ".join(map(str, card["embedding"]["shape"]))
    return [
        ("paper", card["paper"]),
        ("channels", f"{', '.join(contract['channels'])} ({units})"),
        ("input", f"{catalog.extent_in_words(card)}, {contract['dtype']}"),
        ("embedding", f"{shape}, {card['embedding']['distance']} distance{p}"),
        ("parameters", f"{card['model']['parameters']:,}"),
        ("data", data["builder"]),
        catalog.known_in_words(card),
        ("license", data["licence"]),
        *([] if card.get("is_own") else [("in products", products.mark(card))]),
        ("consent", data["consent"]),
        ("recipe", f"{recipe['command']} (seed {recipe['seed']}, {recipe['minutes']:g} minutes)"),
    ]


def _figures(card):
    from keras_dml.zoo import catalog

    for row in card["figures"]:
        fraction = row.get("fraction")
        yield (
            catalog.protocol_in_words(card, row),
            row["n"],
            "" if fraction is None else f"{100 * fraction:g} %",
            catalog.setting(row),
            row["metric"],
            catalog.value_in_words(row),
            f"{row['trials']:,}",
        )


def _thresholds(rows):
    from keras_dml.zoo import catalog

    for row in rows:
        yield (
            f"{row['value']:.4g}",
            f"{100 * row['far']:g} %",
            catalog.percents(catalog.far_interval(row)),
            catalog.with_interval(row["tar"], row["tar_ci95"]),
            f"{row['trials']:,}",
        )


def _exports(card):
    from keras_dml.zoo import catalog

    for row in card["exports"]:
        yield (
            row["format"],
            row.get("quantization") or "float32",
            f"{row['bytes']:,}",
            f"{row['latency_ms']:.2g}",
            catalog.change_in_words(row),
        )
