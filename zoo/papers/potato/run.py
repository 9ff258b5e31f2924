"""Runs the comparison of Kim2020 on HDM05."""

import json
import pathlib
from typing import Any

from keras_dml._typing import Path
from zoo.papers import pages
from zoo.papers.potato import data
from zoo.papers.potato.settings import SCALES, Settings
from zoo.papers.settings import command_options

TITLE = "The potato ranking loss (Kim et al. 2020) and eight other losses"
SOURCE = (
    "The data are HDM05 (Müller et al. 2007; CC BY-SA 3.0). Each clip is described by a covariance "
    "matrix of 31 joints."
)


def run(
    manual_dir: Path,
    out: Path,
    settings: Settings = SCALES["full"],
    *,
    data_dir: Path | None = None,
) -> dict[str, Any]:
    """Compares the potato ranking loss with other losses, and writes tables, pictures and a page.

    The table is printed on stdout and the progress on stderr. A run that was stopped continues if
    it is started with the same `out`.

    Args:
        manual_dir: Folder that holds the archive.
        out: Folder of the results.
        settings: `Settings`. For example, `dataclasses.replace(SCALES["full"], seeds=2)` changes
            one setting of a scale.
        data_dir: Folder of prepared data sets. None: the folder of TensorFlow Datasets.

    Returns:
        The content of `figures.json`, a dictionary from names to tables.

    Raises:
        ImportError: If TensorFlow Datasets is not installed.
        ValueError: If the archive is missing or wrong, or if it contains too few clips or actors.
        OSError: If the folder cannot be written to.
    """
    out = pathlib.Path(out)
    with pages.output_folder(out):
        return _run(manual_dir, out, settings, data_dir)


def _run(manual_dir, out, settings, data_dir):
    clock = pages.Clock()
    scale, options = command_options(settings, SCALES)
    with pages.stage("read the clips"):
        matrices, motions, actors = data.read(manual_dir, data_dir)
    with pages.stage("load the losses"):
        from zoo.papers.potato import report
        from zoo.papers.potato.experiment import PER_CLASS, Experiment
        from zoo.papers.runs import TimedRuns

    clips = data.make_clips(matrices, motions, actors, PER_CLASS)
    experiment = Experiment(clips, TimedRuns(out / "runs"), settings)
    _introduce(clips, scale)
    choices = experiment.choose()
    rows, spreads = experiment.compare(choices)
    ablations = experiment.ablate(choices)
    with pages.stage(f"draw into {out}"):
        table, paths = report.write(
            out, choices, rows, spreads, ablations, seeds=settings.seeds, source=SOURCE
        )
        section = report.section(table, experiment.people, settings.seeds)
        page = pages.write_report(
            out,
            TITLE,
            [SOURCE, *pages.warnings_of(scale)],
            [section],
            report.FILES,
            f"python -m zoo.papers potato --manual-dir DIR {options}",
            clock,
            seeds=", ".join(map(str, range(settings.seeds))),
        )
    pages.print_section(section)
    pages.print_files([*paths, page], report.FILES, clock)
    pages.echo(
        "Each picture is written as a .png and a .svg file, and its numbers as a .csv file.", "dim"
    )
    return json.loads((out / report.FIGURES).read_text(encoding="utf-8"))


def _introduce(clips, scale):
    pages.echo(f"\n{TITLE}", "bold")
    pages.echo(
        f"{len(clips.labels):,} clips of {len(clips.classes)} motions by {len(clips.names)} "
        f"actors: {', '.join(clips.names)}"
    )
    pages.echo(SOURCE)
    if clips.left_out:
        pages.echo(
            f"{len(clips.left_out)} motions are left out, because they have too few clips when two "
            "actors are held out."
        )
    for sentence in pages.warnings_of(scale):
        pages.echo(sentence)
