"""Trains a model and methods to compare it with, with several seeds, and compares their figures.

From the checkout: `python -m zoo.compare gait_qp_wl`. Finished runs are not repeated, and stopped
runs continue from their checkpoints.
"""

import csv
import io
import json
import pathlib
import subprocess
import sys
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation, reports
from keras_dml._files import write_text
from keras_dml.training import measure

LABELS = {"qp_wl": "QP-WL", "qp_npl": "QP-NPL", "mp_npl": "MP-NPL", "qp_cls": "QP-CLS"}
REPLICATES = 300
SHOWN = ("protocol", "n", "metric", "fraction")


def run(name, options, seed, steps, out):
    """Runs one training, unless its figures exist."""
    if (out / measure.FIGURES).exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", f"zoo.{name}.train", *options, "--resume"]
    command += ["--seed", str(seed), "--out", str(out)]
    if steps:
        command += ["--steps", str(steps)]
    subprocess.run(command, check=True)


def table(folders):
    """Computes the mean and the standard error over seeds of every figure, as columns of a table.

    Args:
        folders: Folders of the runs by label.
    """
    columns = {
        key: [] for key in ("method", *SHOWN, "mean", "stderr_over_seeds", "seeds", "trials")
    }
    for label, runs in folders.items():
        figures = [json.loads((out / measure.FIGURES).read_text()) for out in runs]
        for entries in zip(*figures, strict=True):
            values = np.array([entry["value"] for entry in entries])
            spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            row = {
                "method": label,
                **{key: entries[0][key] for key in SHOWN},
                "protocol": entries[0]["protocol"].replace("session", "block"),  # of one sitting
                "mean": round(float(values.mean()), 5),
                "stderr_over_seeds": round(float(spread), 5),
                "seeds": len(values),
                "trials": entries[0]["trials"],
            }
            for key, value in row.items():
                columns[key].append(value)
    return columns


def differences(folders):
    """Computes the pooled EER of the first method minus the EER of each other method, as columns.

    The 95 % intervals are from a bootstrap over people and seeds, with the same draws for both
    methods.

    Args:
        folders: Folders of the runs by label.
    """
    runs = {
        label: [np.load(out / measure.TRIALS) for out in results]
        for label, results in folders.items()
    }
    first, *rivals = runs
    drawn = {label: [] for label in runs}
    rng = np.random.default_rng(0)
    for _ in range(REPLICATES):
        rows = _draw_people(rng, runs[first][0])
        seeds = rng.integers(len(runs[first]), size=len(runs[first]))
        for label, results in runs.items():
            rates = [
                _eer(results[seed]["scores"][rows], results[seed]["genuine"][rows])
                for seed in seeds
            ]
            drawn[label].append(np.mean(rates))
    observed = {
        label: np.mean([_eer(each["scores"], each["genuine"]) for each in results])
        for label, results in runs.items()
    }
    columns = {"method": [first, *rivals], "eer": [round(observed[label], 5) for label in runs]}
    gaps = {label: np.subtract(drawn[first], drawn[label]) for label in rivals}
    columns["first less this"] = [
        None,
        *(round(observed[first] - observed[rival], 5) for rival in rivals),
    ]
    for name, percentile in (("ci95 low", 2.5), ("ci95 high", 97.5)):
        bounds = [round(float(np.percentile(gaps[rival], percentile)), 5) for rival in rivals]
        columns[name] = [None, *bounds]
    return columns


def as_csv(columns):
    """Returns columns as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([columns, *zip(*columns.values(), strict=True)])
    return text.getvalue()


def _draw_people(rng, trials):
    """Returns the rows of the trials of people drawn with replacement."""
    names, codes = np.unique([trials["probes"], trials["claims"]], return_inverse=True)
    probes, claims = codes.reshape(2, -1)
    times = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
    counts = np.where(trials["genuine"], times[probes], times[probes] * times[claims])
    return np.repeat(np.arange(len(counts)), counts)


def _eer(scores, genuine):
    return evaluation.verification(scores, genuine).eer


def figure(folders, caption):
    """Plots error curves of the methods, the mean over their seeds, from all trials of their
    runs.
    """
    results = {}
    for label, runs in folders.items():
        trials = [np.load(out / measure.TRIALS) for out in runs]
        results[label] = [
            evaluation.verification(each["scores"], each["genuine"]) for each in trials
        ]
    return reports.verification_curves(results, caption=caption)


def main(
    name: Annotated[str, typer.Argument(help="A model whose recipe has --method.")],
    seeds: Annotated[int, typer.Option(help="Runs of each method.")] = 5,
    steps: Annotated[int, typer.Option(help="Training steps; 0: the recipe's own.")] = 0,
    build: Annotated[pathlib.Path, typer.Option(help="Folder of the runs.")] = pathlib.Path(
        "build/compare"
    ),
):
    """Writes `figures/methods.png`, `methods.csv` and `differences.csv` into the model's folder."""
    folders = {}
    for seed in range(seeds):
        for method, label in LABELS.items():
            out = build / name / f"{method}_{seed}"
            print(f"{label}, seed {seed}", file=sys.stderr, flush=True)
            run(name, ["--method", method], seed, steps, out)
            folders.setdefault(label, []).append(out)
    target = pathlib.Path(__file__).parent / name / "figures" / "methods"
    caption = (
        "Single recordings of each unseen person's last block against everybody's earlier ones. "
        f"{seeds} seeds a method{f', {steps:,} steps each' if steps else ''}."
    )
    for path in reports.save(figure(folders, caption), target, table(folders)):
        print(path)
    path = target.with_name("differences.csv")
    write_text(path, as_csv(differences(folders)))
    print(path)


if __name__ == "__main__":
    typer.run(main)
