"""Options of the commands `proposals` and `strangers`, which manage kept recordings."""

from typing import Annotated

import typer

Ids = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ID]...", help="Ids from the list that the command prints.", show_default=False
    ),
]
Destroy = Annotated[
    bool, typer.Option("--destroy", help="Destroy the kept recordings with these ids.")
]
Keep = Annotated[
    float | None,
    typer.Option(
        "--keep",
        metavar="DAYS",
        help="Keep recordings from now on, and destroy each of them after this number of days, at "
        "most 366.",
        show_default=False,
    ),
]
Off = Annotated[
    bool, typer.Option("--off", help="Keep nothing from now on, and destroy all that is kept.")
]


def check_options(ids, actions, keep, is_ending):
    """Checks that ids are given for exactly the actions that need ids.

    Args:
        ids: The given ids, or None.
        actions: Dictionary from options that need ids to True if the option is given.
        keep: Value of `--keep`, or None.
        is_ending: Whether `--off` is given.

    Raises:
        typer.BadParameter: If the options cannot be combined.
    """
    options = [option for option, is_given in actions.items() if is_given]
    count = len(options) + (keep is not None) + is_ending
    if count > 1:
        raise typer.BadParameter(f"Give only one of {', '.join(actions)}, --keep and --off.")
    if bool(options) != bool(ids):
        expected = " or ".join(actions)
        raise typer.BadParameter(
            f"{options[0]} needs ids." if options else f"Ids need one of the options {expected}."
        )


def set_days(kept, keep, is_ending):
    """Applies the options `--keep` and `--off`.

    Args:
        kept: `Gallery.proposals` or `Gallery.strangers`.
        keep: Value of `--keep`, or None.
        is_ending: Whether `--off` is given.
    """
    if keep is not None or is_ending:
        kept.keep(keep)


def in_words(days):
    """Returns a sentence that says for how many days recordings are kept."""
    if days is None:
        return "Recordings are not kept. --keep DAYS turns this on."
    return f"Recordings are kept for {days:g} days."
