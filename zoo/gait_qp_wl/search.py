"""Compares settings of `gait_qp_wl` and of the other methods by cross-validation over the training
people.

Each run trains a model on two thirds of the people of `train` and `validation`. The run measures
the model on the other people, separately for left and right feet. The people of `test` are not
used. Each run writes one line of JSON into the file `--out`, and existing runs are not repeated. To
list the options, run `python -m zoo.gait_qp_wl.search --help`.
"""

import dataclasses
import pathlib
import tempfile
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation
from keras_dml._files import write_text
from keras_dml.training import folds, measure, trials
from zoo import gait, recipe, searches, sequences
from zoo.compare import as_csv
from zoo.gait_qp_wl import train

# Settings of a method that each variant changes. The first variants apply to all four methods.
VARIANTS = {
    "": {},
    "learning rate 1e-3": {"learning_rate": 1e-3},
    "learning rate 1e-2": {"learning_rate": 1e-2},
    "channels not mixed": {"mix": 0.0},
    "channels mixed more": {"mix": 0.6},
    "right feet as recorded": {"mirrored": False},
    "positives from both trials": {"other_trial": False},
    "32 pairs": {"pairs": 32},
    "48 pairs": {"pairs": 48},
    "no noise, no gains, no turns": {"noise": 0.0, "gain": 0.0, "degrees": 0.0},
}
COSINES = {f"cosine times {scale}": {"loss": {"scale": scale}} for scale in (8, 32, 64, 128)}
OWN = {
    "qp_wl": {
        "distance times 1/4": {"loss": {"scale": 0.25}},
        "distance times 4": {"loss": {"scale": 4.0}},
        "p = 2": {"loss": {"p": 2}},
        "32 knots": {"knots": 32},
        "weight decay 0.02": {"weight_decay": 0.02},
        "windows of 256 steps": {"length": 256},
        "halved after 4, 8 and 12 convolutions": {"halve_every": 4},
    },
    "qp_npl": COSINES,
    "mp_npl": COSINES,
    "qp_cls": {},
}


def run_once(method, changes, fold, count, seed, steps):
    """Trains one model and computes its figures, averaged over both feet.

    The figures are the pooled EER, the EER of single pairs across trials, and the EER of the
    paper's protocol.
    """
    walkers = gait.both_feet()
    left = gait.left_feet(walkers)
    held_out = set(folds(left.subjects, count)[fold])
    rest = walkers.without(held_out | {f"{subject}{gait.RIGHT}" for subject in held_out})
    settings = dataclasses.replace(train.SETTINGS[method], **changes)
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name)
        run = recipe.Run("gait_qp_wl", out, out, steps, seed)
        encoder = train.trained(run, method, rest, settings)
    right = walkers.select({f"{subject}{gait.RIGHT}" for subject in held_out})
    feet = [left.select(held_out), gait.mirrored(right) if settings.mirrored else right]
    rates = []
    for foot in feet:
        windows = foot.windows(gait.WINDOW)
        rates.append(figures(measure.pairwise_distances(encoder, windows.signals), windows))
    return {name: float(np.mean([subject[name] for subject in rates])) for name in rates[0]}


def figures(distances, people):
    """Computes three EERs of a run and returns a dictionary from their names to their values.

    Args:
        distances: Shape `(recordings, recordings)`.
        people: `keras_dml.training.People`.
    """
    pooled = trials.latest_against_earlier(distances, people.subjects, people.sessions)
    owner, session = np.asarray(people.subjects), np.asarray(people.sessions)
    last = {subject: session[owner == subject].max() for subject in set(owner.tolist())}
    late = session == [last[subject] for subject in owner]
    pairs = distances[np.ix_(late, ~late)]
    genuine = owner[late][:, None] == owner[~late]
    paper = evaluation.paper_protocol(distances, owner, n=(1,), fractions=(1.0,))
    return {
        "pooled": float(evaluation.verification(pooled.scores, pooled.genuine).eer),
        "single pairs": float(evaluation.verification(pairs, genuine).eer),
        "paper": next(row["value"] for row in paper if row["metric"] == "eer"),
    }


def table(lines):
    """Returns the columns of a table. For each variant, the columns contain means over folds and
    seeds. They also contain the mean change from the unchanged settings, compared on the same folds
    and seeds.

    Args:
        lines: Dictionaries of the runs.
    """
    keys = ("method", "steps", "variant", "fold", "seed")
    by_key = {tuple(line[key] for key in keys): line for line in lines}
    columns = {}
    for method, steps, variant in dict.fromkeys(key[:3] for key in by_key):
        runs = [line for key, line in by_key.items() if key[:3] == (method, steps, variant)]
        row = {"method": method, "steps": steps, "variant": variant, "runs": len(runs)}
        for name in runs[0]["figures"]:
            values = np.array([line["figures"][name] for line in runs])
            unchanged = [
                by_key.get((method, steps, "", line["fold"], line["seed"])) for line in runs
            ]
            gaps = [v - s["figures"][name] for v, s in zip(values, unchanged, strict=True) if s]
            row[f"{name} EER"] = round(float(values.mean()), 4)
            row[f"{name} change"] = round(float(np.mean(gaps)), 4) if gaps else None
        for key, value in row.items():
            columns.setdefault(key, []).append(value)
    return columns


def main(
    out: Annotated[pathlib.Path, typer.Option(help="File of the runs.")] = pathlib.Path(
        "build/gait_search.jsonl"
    ),
    steps: Annotated[int, typer.Option(help="Training steps of a run.")] = train.STEPS,
    seeds: Annotated[int, typer.Option(help="Seeds of each variant.")] = 1,
    count: Annotated[int, typer.Option("--folds", help="Folds of people.")] = 3,
    fold: Annotated[list[int] | None, typer.Option(help="Folds. Default: all.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Methods. Default: all four.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Variants. Default: all.")] = None,
):
    """Runs all settings that have no results yet, and writes `figures/search.csv`."""
    variants = VARIANTS | {name: None for changes in OWN.values() for name in changes}
    searches.check(
        {
            "fold": (fold, range(count)),
            "method": (method, sequences.METHODS),
            "variant": (variant, variants),
        }
    )
    wanted = [
        {"method": name, "variant": changed, "fold": held_out, "seed": seed, "steps": steps}
        for seed in range(seeds)
        for held_out in fold or range(count)
        for name in method or sequences.METHODS
        for changed in VARIANTS | OWN[name]
        if variant is None or changed in variant
    ]

    def run(one):
        changes = (VARIANTS | OWN[one["method"]])[one["variant"]]
        return {"figures": run_once(one["method"], changes, one["fold"], count, one["seed"], steps)}

    lines = searches.completed(out, wanted, run)
    path = pathlib.Path(__file__).parent / "figures" / "search.csv"
    text = as_csv(table(lines))
    write_text(path, text)
    print(f"{text}{path}")


if __name__ == "__main__":
    typer.run(main)
