"""Implements the command `keras-dml train FOLDER --out DIR`, which trains a model on recordings of
people.
"""

import enum
import pathlib
import shlex
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options

MOST_LEFT_OUT = 10  # number of left-out files that are listed


class Kind(enum.StrEnum):
    """Kinds of recordings."""

    sequences = "sequences"
    covariances = "covariances"
    sound = "sound"


NAMES = _options.READING_NAMES | {  # how this command spells arguments in messages
    "events": "--events",
    "kind": "--kind",
    "minutes": "--minutes",
    "replace=True": "--replace",
    "resample_hz": "--resample-hz",
    "resume": "--resume",
    "steps": "--steps",
    "units": "--units",
    "window": "--window",
}


def run(
    folder: Annotated[
        str,
        typer.Argument(
            help="Folder with one folder per person, or a csv with the columns path and person.",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ],
    out: Annotated[
        pathlib.Path,
        _options.folder("--out", "Output folder. Its name becomes the name of the model."),
    ],
    kind: Annotated[
        Kind | None,
        typer.Option(
            metavar="KIND",
            help="Kind of recordings: sequences of motion, covariances of many channels (EEG), or "
            "sound.",
            show_default="from channels and rate",
        ),
    ] = None,
    rate_hz: Annotated[
        float | None,
        typer.Option(
            metavar="HZ",
            help="Time steps per second.",
            show_default="from the column of times or the header of a wav",
        ),
    ] = None,
    resample_hz: Annotated[
        float | None,
        typer.Option(
            metavar="HZ",
            help="Resample recordings to this rate, which may be up to twice their original rate. "
            "Times may be uneven. For sound at 16000 Hz, a pretrained voice encoder is compared "
            "too.",
            show_default="no resampling if times are even, else the median rate",
        ),
    ] = None,
    time: _options.Time = None,
    time_unit: _options.TimeUnit = None,
    max_gap: _options.MaxGap = None,
    events: Annotated[
        bool,
        typer.Option(
            "--events",
            help="The rows are events without a rate, such as key presses. Times are not read, so "
            "write the time between events as a column. Columns may be 0 and 1.",
        ),
    ] = False,
    window: Annotated[
        float | None,
        typer.Option(
            metavar="LENGTH",
            help="Length of the windows that are compared, in seconds, or in events with --events.",
            show_default="10 for motion, 2 for covariances, 4 for sound, 50 for events, but at "
            "most the length of a recording",
        ),
    ] = None,
    channels: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y,...",
            help="Columns of the files. Columns of npy and wav files are numbers from 1.",
            show_default="all columns except times, counters, text and constant columns",
        ),
    ] = None,
    units: Annotated[
        str | None,
        typer.Option(
            metavar="G,G,...",
            help="Unit of each channel, or one unit for all channels.",
            show_default="from the header, such as `x (g)`",
        ),
    ] = None,
    minutes: Annotated[
        float,
        typer.Option(
            help="Approximate time for the whole training. If the machine becomes slower, networks "
            "are trained with fewer steps."
        ),
    ] = 10.0,
    steps: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Training steps of each network. Use 0 for no network. The same number of steps "
            "gives the same model, but the same --minutes may give different models.",
            show_default="from the minutes",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed for weights, batches and groups of people.")
    ] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume a training that was stopped.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace an existing model in --out.")
    ] = False,
    name_people: Annotated[
        bool,
        typer.Option(
            "--name-people", help="List the names of the people in the card, instead of numbers."
        ),
    ] = False,
    as_json: _options.AsJson = False,
) -> None:
    """Train a model on recordings FOLDER/person/walk.csv or FOLDER/person/session/walk.csv.

    The command first fits methods with closed-form solutions, and then trains a network in the
    remaining time. The command measures each method on people who were not used in the training.
    The command writes the model of the best method. The commands enroll, verify and export can use
    this model. If a file has uneven times, as phones record them, all files are resampled to the
    median of their rates. If nearly all files are left out, no model is written.

    Exit status: 0 if the model is written, 2 if not.

    Example: keras-dml train walks --channels x,y,z --rate-hz 50 --out phone
    """
    from keras_dml import recordings
    from keras_dml._messages import spelled
    from keras_dml.cli import _answers, _console, _extras
    from keras_dml.training.own import folders

    with _answers.spell_errors(NAMES):  # before a backend is loaded
        folders.check_out(out, replace=replace, resume=resume)
        recordings.folder(folder)
    _extras.require_keras("Training", on_jax=True)
    from keras_dml import training

    stopped = f"Stopped. Run the command again with --resume to continue from {out}."
    with (
        _console.stoppable(stopped),
        _console.hide_text(as_json),
        _answers.spell_errors(NAMES),
    ):
        result = training.train_folder(
            folder,
            channels=_split(channels),
            rate_hz=rate_hz,
            resample_hz=resample_hz,
            time=time,
            time_unit=None if time_unit is None else time_unit.value,
            max_gap=max_gap,
            events=events,
            units=_units(units),
            out=out,
            window=window,
            kind=None if kind is None else kind.value,
            minutes=minutes,
            steps=steps,
            seed=seed,
            resume=resume,
            replace=replace,
            name_people=name_people,
        )
        for name, reason in result.refused.items():
            result.refused[name] = spelled(reason, NAMES)
        notes = {spelled(text, NAMES): count for text, count in result.notes.items()}
        _console.print_file_notes(notes)
        _show(result, "" if result.resampled_hz is None else " --resample")
    if as_json:
        _console.print_json({**_as_json(result), "notes": notes}, indent=2)


def _show(result, resampling):
    from keras_dml.cli import _console
    from keras_dml.training.own import leaderboard
    from keras_dml.zoo import catalog, headline

    if result.refused:
        _console.echo(f"[bold]{len(result.refused)} left out[/bold]")
        refusals = list(result.refused.items())
        _console.print_table((), refusals[:MOST_LEFT_OUT], header=False)
        if len(refusals) > MOST_LEFT_OUT:
            count = len(refusals) - MOST_LEFT_OUT
            _console.echo(f"and {count} more. Use --json to list all files.")
        _console.echo()
    if result.leaderboard:
        figures = ", ".join(catalog.figures_in_words(result.card))
        name = _console.escape(result.card["name"])
        _console.echo(f"[bold]{name}: {_console.escape(figures)}[/bold]")
        _console.echo(f"\n{leaderboard.CHOSEN_FROM}")
        _console.print_table(leaderboard.COLUMNS, leaderboard.cells(result.leaderboard))
    _console.echo(f"\n{_console.escape(headline.words(result.card))}")
    for limit in result.card["limits"]:
        _console.echo(f"- {_console.escape(limit)}")
    if result.refused:  # repeated, because the list above may have scrolled off the screen
        _console.echo(f"- Left out: {len(result.refused):,} files, see above.")
    minutes = result.card["recipe"]["minutes"]
    _console.echo(
        f"\n[bold]{_console.escape(result.method)} written to "
        f"{_console.escape(result.folder)}[/bold] in {minutes:g} minutes. The page of the model is "
        "README.md.\nNext: keras-dml enroll family.db PERSON FILES --model "
        f"{_console.escape(shlex.quote(str(result.folder)))}{resampling}"
    )
    if result.not_exported:
        _console.echo(_console.escape(result.not_exported))


def _as_json(result):
    return {
        "model": str(result.folder),
        "method": result.method,
        "leaderboard": result.leaderboard,
        "refused": result.refused,
        "not_exported": result.not_exported,
        "card": result.card,
    }


def _split(text):
    return None if text is None else [item.strip() for item in text.split(",")]


def _units(text):
    units = _split(text)
    return units[0] if units and len(units) == 1 else units
