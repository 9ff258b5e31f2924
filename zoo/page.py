"""Writes a page about a run of a recipe, with figures, error curves and the command of the run."""

import shlex
import sys

from keras_dml import reports, training
from keras_dml.training import measure, page
from keras_dml.zoo import headline
from zoo import evidence

NAME = "report.html"


def write(run, figures, pooled=None, caption=""):
    """Writes `report.html` into the folder of a run.

    Args:
        run: `zoo.recipe.Run`.
        figures: Rows with figures of the run.
        pooled: Main result of a `Measurement`. The error curves of the measurement must be in the
            folder. Default: no main result.
        caption: Text that describes the people and the protocol of the trials.
    """
    card = {"name": run.name, "figures": figures, "headline": pooled or {}, "baselines": []}
    sections, pictures = [], []
    if pooled:
        about = (
            f"These figures use one threshold for all people. Each of {pooled['probes']:,} probes "
            f"of {pooled['people']} people is compared with "
            f"{pooled['gallery']} {'claim' if pooled['gallery'] == 1 else 'claims'}. Brackets "
            "contain 95 % intervals of a Bayesian bootstrap over people, which adds one person "
            "with errors in all trials."
        )
        sections.append(reports.Section("All people together", about, *headline.table(card)))
        pictures.append(reports.Picture((run.out / measure.CURVES).with_suffix(".svg"), caption))
    text = (
        "Each row contains a figure of one protocol, with its standard error over draws, folds or "
        "images."
    )
    sections.append(reports.Section("Figures", text, *page.figure_table(card)))
    versions = training.versions().items()
    facts = {
        "command": shlex.join(
            ["python", "-m", f"{evidence.module(run.name)}.train", *sys.argv[1:]]
        ),
        "seed": run.seed,
        "steps": run.steps,
        "training": f"{run.minutes:.1f} minutes",
        "versions": ", ".join(f"{name} {number}" for name, number in versions),
    }
    lead = [
        "This page describes one run of the recipe, not the published model. The card of the "
        "published model also lists baselines and limits."
    ]
    reports.write_page(
        run.out / NAME,
        f"{run.name}: results of one run of the recipe",
        lead=lead,
        sections=sections,
        pictures=pictures,
        facts=facts,
    )
