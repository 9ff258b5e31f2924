"""Prototypical classifiers under attack: digits, experiment, printed table."""

import dataclasses
import pathlib
import time

from keras_dml.cli import _console, _page

TITLE = "Prototypical classifiers (Monteiro et al. 2020) under attack, beside four others"
SOURCE = (
    "MNIST (LeCun and Cortes; commonly stated as CC BY-SA 3.0), attacks within 0.3 of every pixel."
)
FILES = {
    split: tuple(f"{split}-{kind}-ubyte" for kind in ("images-idx3", "labels-idx1"))
    for split in ("train", "t10k")
}
WRITTEN = {
    "table1.png": "the table above, beside the paper's",
    "table1.csv": "its numbers, with intervals",
    "report.html": "all of it on one page, to hand on",
    "figures.json": "all of it, and the history of every training, for programs",
}
SHOWN = ("clean", "fgsm", "short", "long", "apgd", "margin", "targeted", "square", "worst")


def show(manual_dir, out, scale, *, seeds=None, images=None, precision="float32"):
    """Runs the comparison and prints its table.

    Args:
        manual_dir: Folder that holds the four files of MNIST.
        out: Folder that is written into.
        scale: A name of `plan.SCALES`.
        seeds: Number of trainings of each kind; that of the scale when None.
        images: Number of test images to attack, the first ones; that of the scale when None.
        precision: Keras's policy of the training.

    Raises:
        ValueError: If a file is missing, or is not what it should be.
        OSError: If the folder cannot be written to.
    """
    start = time.monotonic()
    with _console.stage("read the digits"):
        train, test = read(manual_dir)
    with _console.stage("load the networks"):
        from keras_dml.reproduce.prototypes import digits, plan, plots, tables
        from keras_dml.training import Runs

    given = {"seeds": seeds, "test": images}
    given = {name: value for name, value in given.items() if value is not None}
    chosen = dataclasses.replace(plan.SCALES[scale], **given)
    shown = digits.digits_of(train, test).first(chosen.train, chosen.test)
    experiment = plan.Experiment(shown, Runs(out / "runs"), chosen, precision=precision)
    heads = tables.heads(experiment.attacks)
    _introduce(shown, scale)
    history = experiment.train()
    table = tables.comparison(experiment.attack(), heads)
    found = _section(table, heads)
    with _console.stage(f"draw into {out}"):
        written = plots.write(out, table, heads, history, source=SOURCE)
        command = (
            f"keras-dml reproduce prototypes --manual-dir DIR --scale {scale} --seeds "
            f"{chosen.seeds} --images {len(shown.x_test)} --precision {precision}"
        )
        page = _page.write(
            out, TITLE, [SOURCE, *_page.meaning(scale)], [found], WRITTEN, command, start
        )
    _console.section(found, gap=1)
    _console.written([*written, page], WRITTEN, time.monotonic() - start)
    _console.echo("[dim]The networks lie in runs/, as .keras files.[/dim]")


def read(manual_dir):
    """Images and labels of the training and of the test set, as in the archive."""
    from tfds_builders.parsers import idx

    manual_dir = pathlib.Path(manual_dir).expanduser()
    folder = manual_dir / "mnist" if (manual_dir / "mnist").is_dir() else manual_dir
    return [tuple(idx.read(_one_of(folder, name)) for name in names) for names in FILES.values()]


def _one_of(folder, name):
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    raise ValueError(
        f"MNIST: no {name}.gz, nor {name}, in {folder}. Put the four files of MNIST there "
        "(http://yann.lecun.com/exdb/mnist/), or name their folder by --manual-dir."
    )


def _introduce(digits, scale):
    _console.echo(
        f"\n[bold]{TITLE}[/bold], scale {scale}\n{len(digits.x):,} digits to train on, "
        f"{len(digits.x_test):,} to attack; one recipe, one architecture and a LeNet"
    )
    _console.echo(f"[dim]{SOURCE}[/dim]")
    for said in _page.meaning(scale):
        _console.echo(f"[dim]{said}[/dim]")


def _section(table, heads):
    from keras_dml.reports import Section
    from keras_dml.reproduce.prototypes.tables import OF_PAPER

    seeds = table["seeds"][0]
    trainings = f"{seeds} trainings" if seeds > 1 else "one training"
    text = (
        f"Of {table['count'][0]:,} images, in %, mean of {trainings}: clean, under each "
        "attack, under all of them. Right: the paper's Table 1, whose attacks were probably weaker."
    )
    shown = (heads[name].replace("Square-", "Square ") for name in SHOWN)  # heads wrap at spaces
    columns = ("", *shown, "", *OF_PAPER.values())
    rows = []
    for i, method in enumerate(table["method"]):
        here = [_percent(table[name][i]) for name in SHOWN]
        there = [_percent(table[f"{name}_paper"][i]) for name in OF_PAPER]
        rows.append((method, *here, "|", *there))
    widest = max(
        table[f"{name}_high"][i] - table[f"{name}_low"][i]
        for name in SHOWN
        for i in range(len(table["method"]))
    )
    note = (
        f"95 % intervals are at most ± {50 * widest:.1f}; table1.csv has them, and the paper's own "
        "protocol as (weak)."
    )
    return Section("Right answers", text, columns, rows, note)


def _percent(fraction):
    return "–" if fraction is None else f"{100 * fraction:.1f}"
