"""Runs Table 1 of Monteiro2020 on MNIST."""

import dataclasses
import json
import pathlib
from typing import Any

from keras_dml._typing import Path
from zoo.papers import pages
from zoo.papers.prototypes import data
from zoo.papers.prototypes.settings import SCALES, Settings
from zoo.papers.settings import command_options

TITLE = "Prototypical classifiers (Monteiro et al. 2020) and four other defenses under attack"
SOURCE = (
    "The data are MNIST (LeCun and Cortes; commonly stated as CC BY-SA 3.0). The attacks change "
    "each pixel by at most {:g}."
)


def run(manual_dir: Path, out: Path, settings: Settings = SCALES["full"]) -> dict[str, Any]:
    """Trains and attacks the rows of Table 1, and writes the table, a picture and a page.

    The tables are printed on stdout and the progress on stderr. A run that was stopped continues if
    it is started with the same `out`.

    Args:
        manual_dir: Folder that holds the four files of MNIST.
        out: Folder of the results.
        settings: `Settings`. For example, `dataclasses.replace(SCALES["full"], images=500)` changes
            one setting of a scale.

    Returns:
        The content of `figures.json`: the table, the headings of its columns, and the history of
        the trainings.

    Raises:
        ValueError: If a file is missing or damaged, or if the settings name an unknown row.
        OSError: If the folder cannot be written to.
    """
    out = pathlib.Path(out)
    with pages.output_folder(out):
        return _run(manual_dir, out, settings)


def _run(manual_dir, out, settings):
    clock = pages.Clock()
    with pages.stage("read the digits"):
        train, test = data.read(manual_dir)
    with pages.stage("load the networks"):
        from zoo.papers.prototypes import report, tables
        from zoo.papers.prototypes.experiment import Experiment
        from zoo.papers.runs import TimedRuns

    digits = data.make_digits(train, test).first(settings.training_images, settings.images)
    scale, options = command_options(
        dataclasses.replace(settings, images=len(digits.x_test)), SCALES
    )
    source = SOURCE.format(settings.epsilon)
    experiment = Experiment(digits, TimedRuns(out / "runs"), settings)
    heads = tables.column_heads(experiment.attacks)
    lead = [source, *pages.warnings_of(scale)]
    pages.echo(f"\n{TITLE}", "bold")
    pages.echo(f"{len(digits.x):,} digits to train on, {len(digits.x_test):,} to attack")
    for sentence in lead:
        pages.echo(sentence)
    history = experiment.train()
    table = tables.comparison(experiment.attack(), heads)
    sections = report.sections(table, heads)
    with pages.stage(f"draw into {out}"):
        paths = report.write(out, table, heads, history, source=source)
        page = pages.write_report(
            out,
            TITLE,
            lead,
            sections,
            report.FILES,
            f"python -m zoo.papers prototypes --manual-dir DIR {options}",
            clock,
            seeds=", ".join(map(str, range(settings.seeds))),
        )
    for section in sections:
        pages.print_section(section)
    pages.print_files([*paths, page], report.FILES, clock)
    pages.echo("The networks are stored as .keras files in runs/.", "dim")
    return json.loads((out / report.FIGURES).read_text(encoding="utf-8"))
