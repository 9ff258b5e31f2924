"""The potato ranking loss against others: clips, experiment, printed table."""

import dataclasses
import time

import numpy as np

from keras_dml.cli import _console, _extras, _page

TITLE = "The potato ranking loss (Kim et al. 2020) against eight others"
SOURCE = "HDM05 (Müller et al. 2007; CC BY-SA 3.0): a covariance matrix of 31 joints a clip."
WRITTEN = {
    "table1.png": "the table above, beside the paper's",
    "people.png": "Recall@1 of every actor",
    "figure2_distances.png": "distances to the own class's center and to others",
    "figure3_batch_size.png": "RPL by batch size",
    "figure4_weight.png": "RPL by the weight of its negatives",
    "figure5_calibration.png": "RPL by the clips that calibrate it",
    "report.html": "all of it on one page, to hand on",
    "figures.json": "all of it, and the settings chosen, for programs",
}


def show(manual_dir, data_dir, out, scale, seeds=None):
    """Runs the comparison and prints its table.

    Args:
        manual_dir: Folder that holds the archive.
        data_dir: Where the prepared data set is kept; TFDS's own folder when None.
        out: Folder that is written into.
        scale: A name of `plan.SCALES`.
        seeds: Number of seeds of every network tested; that of the scale when None.

    Raises:
        ImportError: If TensorFlow Datasets is not installed.
        ValueError: If the archive is missing or wrong, or holds too few clips or actors.
        OSError: If the folder cannot be written to.
    """
    start = time.monotonic()
    with _console.stage("read the clips"):
        matrices, motions, actors = read(manual_dir, data_dir)
    with _console.stage("load the losses"):
        from keras_dml.reproduce.potato import clips, plan, plots
        from keras_dml.training import Runs

    chosen = plan.SCALES[scale]
    if seeds is not None:
        chosen = dataclasses.replace(chosen, seeds=seeds)
    moved = clips.clips_of(matrices, motions, actors, plan.PER_CLASS)
    _introduce(moved, scale, chosen)
    experiment = plan.Experiment(moved, Runs(out / "runs"), chosen)
    choices = experiment.choose()
    rows, spreads = experiment.compare(choices)
    ablations = experiment.ablate(choices)
    with _console.stage(f"draw into {out}"):
        table, written = plots.write(
            out,
            choices,
            rows,
            spreads,
            ablations,
            seeds=chosen.seeds,
            source=SOURCE,
        )
        found = _section(table, experiment.people, chosen.seeds)
        command = (
            f"keras-dml reproduce potato --manual-dir DIR --scale {scale} --seeds {chosen.seeds}"
        )
        page = _page.write(
            out, TITLE, [SOURCE, *_page.meaning(scale)], [found], WRITTEN, command, start
        )
    _console.section(found)
    _console.written([*written, page], WRITTEN, time.monotonic() - start)
    _console.echo("[dim]Beside each .png: the same as .svg, and their numbers as .csv.[/dim]")


def read(manual_dir, data_dir=None):
    """Covariance matrices of all clips, their motions and their actors, in the archive's order."""
    _extras.require_data("The motion archive")
    from tfds_builders import reading

    records = [
        record
        for split in reading.records("hdm05_mocap/spd93", manual_dir, data_dir).values()
        for record in split
    ]
    matrices = np.stack([record["matrix"] for record in records])
    motions, actors = (
        np.array([record[key].decode() for record in records]) for key in ("motion", "subject")
    )
    return matrices, motions, actors


def _introduce(clips, scale, chosen):
    _console.echo(
        f"\n[bold]{TITLE}[/bold], scale {scale}\n"
        f"{len(clips.labels):,} clips of {len(clips.classes)} motions by {len(clips.names)} "
        f"actors: {_console.plain(', '.join(clips.names))}"
    )
    _console.echo(f"[dim]{SOURCE}[/dim]")
    if clips.left_out:
        _console.echo(
            f"[dim]Motions left out, with too few clips when two actors are held out: "
            f"{len(clips.left_out)}[/dim]"
        )
    for said in _page.meaning(scale):
        _console.echo(f"[dim]{said}[/dim]")


def _section(table, people, seeds):
    from keras_dml.reports import Section
    from keras_dml.reproduce.potato.tables import NAMES

    count = f"{seeds} seeds ± standard error" if seeds > 1 else "one seed"
    text = (
        f"Actors {', '.join(people)} held out in turn, mean over them and {count}; in %. Right: "
        "the paper's Table I, random halves of HDM05's 130 motions."
    )
    papers = [name for name in NAMES if any(x is not None for x in table[f"{name}_paper"])]
    columns = ("loss", *NAMES.values(), "", *(NAMES[name] for name in papers))
    rows = []
    for i, method in enumerate(table["method"]):
        here = [_with_error(table[name][i], table[f"{name}_stderr"][i]) for name in NAMES]
        there = [_with_error(table[f"{name}_paper"][i]) for name in papers]
        rows.append((method, *here, "|", *there))
    note = (
        "No network: log-Euclidean distances of the matrices themselves. Untrained: the network's "
        "random start. NRA: its paper gives no formula that could be built."
    )
    return Section("Actors never seen", text, columns, rows, note)


def _with_error(value, error=None):
    if value is None:
        return "–"
    return f"{100 * value:.1f}" if error is None else f"{100 * value:.1f} ± {100 * error:.1f}"
