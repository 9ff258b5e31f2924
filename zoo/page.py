"""Writes the page of a recipe's run with figures, error curves and the command."""

import shlex
import sys

from keras_dml import reports, training
from keras_dml.training import measure, page
from keras_dml.zoo import catalog, headline

NAME = "report.html"


def write(run, figures, pooled=None, caption=""):
    """Writes `report.html` into the folder of a run.

    Args:
        run: `zoo.recipe.Run`.
        figures: Rows of figures.
        pooled: Main result of a `Measurement` whose error curves are in the folder. Default: no
            main result.
        caption: People and protocol of the trials.
    """
    card = {"name": run.name, "figures": figures, "headline": pooled or {}, "baselines": []}
    sections, pictures = [], []
    if pooled:
        about = (
            f"All {pooled['probes']:,} probes of {pooled['people']} people under one threshold, "
            f"each compared with {catalog.counted(pooled['gallery'], 'claim')}. In brackets: 95 % "
            "intervals over people, with random weights and one more that errs in all its trials."
        )
        sections.append(reports.Section("All people together", about, *headline.table(card)))
        pictures.append(reports.Picture((run.out / measure.CURVES).with_suffix(".svg"), caption))
    text = "By protocol, with standard errors over draws, folds or images."
    sections.append(reports.Section("Figures", text, *page.figure_table(card)))
    versions = training.versions().items()
    facts = {
        "command": shlex.join(["python", "-m", f"zoo.{run.name}.train", *sys.argv[1:]]),
        "seed": run.seed,
        "steps": run.steps,
        "training": f"{run.minutes:.1f} minutes",
        "versions": ", ".join(f"{name} {number}" for name, number in versions),
    }
    lead = ["A run of the recipe, not the published model, whose card has more: baselines, limits."]
    reports.write_page(
        run.out / NAME,
        f"{run.name}: a run of its recipe",
        lead=lead,
        sections=sections,
        pictures=pictures,
        facts=facts,
    )
