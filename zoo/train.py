"""Trains models of the zoo again, one after the other, each with the command on its card.

To train all models overnight, run `python -m zoo.train --all --resume` from the checkout. If the
training of a model fails, the other models are still trained. The same command continues a stopped
run.
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
from zoo import evidence

DONE = "trained.json"  # in the folder of a run that has ended well

Names = Annotated[list[str] | None, typer.Argument(help="Models of the zoo.")]
Every = Annotated[
    bool, typer.Option("--all", help="Train all models, beginning with the fastest training.")
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Skip trained models, and continue stopped trainings."),
]
Publish = Annotated[bool, typer.Option("--publish", help="Replace the models in zoo/.")]
Build = Annotated[pathlib.Path, typer.Option(help="Folder with one subfolder per model.")]


def command(card, publish):
    """Returns the words of the command on a card. The command is changed to use the running Python
    interpreter, and to contain or omit `--publish`.
    """
    words = shlex.split(card["recipe"]["command"])
    rest = [word for word in words[1:] if word != "--publish"]
    return [sys.executable, *rest, *(["--publish"] if publish else [])]


def is_trained(out, words):
    """Returns True if a run of the command `words` has finished in the folder `out`."""
    path = out / DONE
    return path.exists() and json.loads(path.read_text(encoding="utf-8"))["command"] == words


def main(
    names: Names = None,
    every: Every = False,
    resume: Resume = False,
    publish: Publish = False,
    build: Build = pathlib.Path("build/zoo"),
):
    """Trains models again and reports the models whose training failed."""
    if bool(names) == every:
        raise typer.BadParameter("Give either the names of models to train or --all.")
    try:
        cards = {name: evidence.card(name) for name in names or zoo.list_models()}
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
            f"{number} of {len(order)}: {name}, which takes {minutes[name]:g} minutes according to "
            f"its card. All remaining models take {left:.0f} minutes.",
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
            f"failed: {', '.join(failed)}. To train these models again, run the same command with "
            "--resume.",
            file=sys.stderr,
        )
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
