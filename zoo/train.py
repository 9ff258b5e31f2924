"""Trains models of the zoo again, one after the other, each with the command on its card.

From the checkout, overnight: `python -m zoo.train --all --resume`. If a model fails, the others are
still trained. The same command continues a stopped run.
"""

import json
import pathlib
import shlex
import subprocess
import sys
import time
from typing import Annotated

import typer

from keras_dml import zoo
from keras_dml.training import write_json

DONE = "trained.json"  # in the folder of a run that has ended well

Names = Annotated[list[str] | None, typer.Argument(help="Models of the zoo.")]
Every = Annotated[bool, typer.Option("--all", help="All models, the fastest first.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Leave what is trained, go on from checkpoints.")
]
Publish = Annotated[bool, typer.Option("--publish", help="Replace the models in zoo/.")]
Build = Annotated[pathlib.Path, typer.Option(help="Folder of the runs, one folder a model.")]


def command(card, publish):
    """Returns the words of a card's command, with this Python and with or without `--publish`."""
    words = shlex.split(card["recipe"]["command"])
    rest = [word for word in words[1:] if word != "--publish"]
    return [sys.executable, *rest, *(["--publish"] if publish else [])]


def is_trained(out, words):
    """Returns true if a run of this command has finished in that folder."""
    path = out / DONE
    return path.exists() and json.loads(path.read_text(encoding="utf-8"))["command"] == words


def main(
    names: Names = None,
    every: Every = False,
    resume: Resume = False,
    publish: Publish = False,
    build: Build = pathlib.Path("build/zoo"),
):
    """Trains models again and reports failures."""
    if bool(names) == every:
        raise typer.BadParameter("Name the models to train, or give --all.")
    try:
        cards = {name: zoo.card(name) for name in names or zoo.list_models()}
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    minutes = {name: card["recipe"]["minutes"] for name, card in cards.items()}
    order, failed = sorted(cards, key=minutes.get) if every else list(cards), []
    for number, name in enumerate(order, start=1):
        out, words = build / name, command(cards[name], publish)
        if resume and is_trained(out, words):
            print(f"{number} of {len(order)}: {name} is trained already", flush=True)
            continue
        left = sum(minutes[waiting] for waiting in order[number - 1 :])
        print(
            f"{number} of {len(order)}: {name}, {minutes[name]:g} minutes by its card, "
            f"{left:.0f} for all that are left",
            flush=True,
        )
        start = time.monotonic()
        options = ["--out", str(out), *(["--resume"] if resume else [])]
        if subprocess.run([*words, *options]).returncode:
            failed.append(name)
            continue
        spent = round((time.monotonic() - start) / 60, 1)
        write_json(out / DONE, {"command": words, "minutes": spent})
    if failed:
        print(
            f"failed: {', '.join(failed)}; the same command with --resume tries these again",
            file=sys.stderr,
        )
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
