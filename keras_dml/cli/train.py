"""`keras-dml train FOLDER --out DIR`: a model of recordings of one's own."""

import enum
import pathlib
import shlex
from typing import Annotated

import typer

from keras_dml.cli import _completion, _options

SHOWN = 10  # recordings that were left out


class Kind(enum.StrEnum):
    """What is recorded."""

    sequences = "sequences"
    covariances = "covariances"
    sound = "sound"


def run(
    folder: Annotated[
        str,
        typer.Argument(
            help="Folder with one folder per person, or a table: a csv of paths.",
            show_default=False,
            autocompletion=_completion.paths,
        ),
    ],
    out: Annotated[
        pathlib.Path, _options.folder("--out", "Folder of the model; its name is the model's.")
    ],
    kind: Annotated[
        Kind | None,
        typer.Option(
            metavar="KIND",
            help="What is recorded: sequences of motion, covariances of many channels such as EEG, "
            "or sound.",
            show_default="by channels and rate",
        ),
    ] = None,
    rate_hz: Annotated[
        float | None,
        typer.Option(
            metavar="HZ",
            help="Steps per second.",
            show_default="by the column of times, or the header of a wav",
        ),
    ] = None,
    resample_hz: Annotated[
        float | None,
        typer.Option(
            metavar="HZ",
            help="Resample recordings to this rate, up to twice their own. Their times may be "
            "uneven. Voices at 16000 are compared by a ready encoder too.",
            show_default="as they are, or the median of their rates if times are uneven",
        ),
    ] = None,
    time: _options.Time = None,
    time_unit: _options.TimeUnit = None,
    max_gap: _options.MaxGap = None,
    window: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="What is compared at a time.",
            show_default="10 of motion, 2 of covariances, 4 of sound, or as recordings are",
        ),
    ] = None,
    channels: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y,...",
            help="Columns of the files; numbers from 1 in npy and wav.",
            show_default="all except times, counters, text and columns of one value",
        ),
    ] = None,
    units: Annotated[
        str | None,
        typer.Option(
            metavar="G,G,...",
            help="Unit of each channel, or one for all.",
            show_default="by the header, as in `x (g)`",
        ),
    ] = None,
    minutes: Annotated[
        float,
        typer.Option(
            help="Time for everything, roughly; networks take fewer steps where the machine "
            "becomes slower on the way."
        ),
    ] = 10.0,
    steps: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Steps of each training of a network, 0 for none: the same steps give the same "
            "model, the same minutes may not.",
            show_default="what the minutes allow",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights, batches and groups.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a training that was stopped.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace an earlier model in the folder of --out.")
    ] = False,
    name_people: Annotated[
        bool,
        typer.Option(
            "--name-people", help="List the names of the people in the card. Else it has numbers."
        ),
    ] = False,
    as_json: _options.AsJson = False,
):
    """Train on recordings of your own: FOLDER/person/walk.csv, or FOLDER/person/session/walk.csv.

    Methods in closed form come first, then a network, within the time. All are measured on people
    whom they have not seen; the best becomes the model, for enroll, verify and export. If the
    times of files are uneven, as the clocks of phones are, all are resampled to the median of their
    rates. If nearly all files are left out, no model is written.

    Exit status: 0 the model is written, 2 it is not.

    Example: keras-dml train walks --channels x,y,z --rate-hz 50 --out phone
    """
    from keras_dml import recordings
    from keras_dml.cli import _console, _words
    from keras_dml.training.own import folders

    with _words.of_commands(_words.TRAIN):  # before a backend is loaded
        folders.check_out(out, replace=replace, resume=resume)
        recordings.folder(folder)
    from keras_dml import training

    stopped = f"Stopped. The same command with --resume goes on with what is in {out}."
    with (
        _console.stoppable(stopped),
        _console.text_hidden(as_json),
        _words.of_commands(_words.TRAIN),
    ):
        done = training.train_folder(
            folder,
            channels=_listed(channels),
            rate_hz=rate_hz,
            resample_hz=resample_hz,
            time=time,
            time_unit=None if time_unit is None else time_unit.value,
            max_gap=max_gap,
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
        for name, reason in done.refused.items():
            done.refused[name] = _words.replaced(reason, _words.TRAIN)
        notes = {_words.replaced(text, _words.TRAIN): n for text, n in done.notes.items()}
        _console.file_notes(notes)
        _show(done, "" if done.resampled_hz is None else " --resample")
    if as_json:
        _console.json_object({**_as_json(done), "notes": notes}, indent=2)


def _show(done, resampling):
    from keras_dml.cli import _console
    from keras_dml.training.own import leaderboard
    from keras_dml.zoo import catalog, headline

    if done.refused:
        _console.echo(f"[bold]{len(done.refused)} left out[/bold]")
        listed = list(done.refused.items())
        _console.table((), listed[:SHOWN], header=False)
        if len(listed) > SHOWN:
            _console.echo(f"and {len(listed) - SHOWN} more; --json lists all")
        _console.echo()
    if done.leaderboard:
        figures = ", ".join(catalog.figures_in_words(done.card))
        name = _console.plain(done.card["name"])
        _console.echo(f"[bold]{name}: {_console.plain(figures)}[/bold]")
        _console.echo(f"\n{leaderboard.CHOSEN_FROM}")
        _console.table(leaderboard.COLUMNS, leaderboard.cells(done.leaderboard))
    _console.echo(f"\n{_console.plain(headline.words(done.card))}")
    for limit in done.card["limits"]:
        _console.echo(f"- {_console.plain(limit)}")
    if done.refused:  # the list has scrolled away
        _console.echo(f"- Left out: {len(done.refused):,} files, which are listed above.")
    minutes = done.card["recipe"]["minutes"]
    _console.echo(
        f"\n[bold]{_console.plain(done.method)} written to {_console.plain(done.folder)}[/bold] "
        f"in {minutes:g} minutes; its page is README.md\n"
        "Next: keras-dml enroll family.db PERSON FILES --model "
        f"{_console.plain(shlex.quote(str(done.folder)))}{resampling}"
    )
    if done.not_exported:
        _console.echo(_console.plain(done.not_exported))


def _as_json(done):
    return {
        "model": str(done.folder),
        "method": done.method,
        "leaderboard": done.leaderboard,
        "refused": done.refused,
        "not_exported": done.not_exported,
        "card": done.card,
    }


def _listed(text):
    return None if text is None else [one.strip() for one in text.split(",")]


def _units(text):
    listed = _listed(text)
    return listed[0] if listed and len(listed) == 1 else listed
