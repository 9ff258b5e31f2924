"""Trains a model and its rivals with several seeds, and compares their figures.

From the checkout: `python -m zoo.compare gait_qp_wl`. A run that is done is not repeated; a stopped
one goes on from its checkpoint.
"""

import json
import pathlib
import subprocess
import sys
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation, reports
from keras_dml.training import measure

LABELS = {"qp_wl": "QP-WL", "qp_npl": "QP-NPL", "mp_npl": "MP-NPL", "qp_cls": "QP-CLS"}
SHOWN = ("protocol", "n", "metric", "fraction")


def variants(name):
    """Options of the model's recipe by the label in figure and table.

    Teacher and shift serve one method only: the fair comparison is without them.
    """
    options = {label: ["--method", method] for method, label in LABELS.items()}
    if name == "gait_qp_wl":
        options["QP-WL"] += ["--no-teacher", "--no-shift"]
        options = {
            "QP-WL, taught and shifted": ["--method", "qp_wl", "--shift"],
            "QP-WL, taught": ["--method", "qp_wl", "--no-shift"],
            **options,
        }
    return options


def run(name, options, seed, steps, out):
    """One training run, unless its figures are there already."""
    if (out / measure.FIGURES).exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", f"zoo.{name}.train", *options, "--resume"]
    command += ["--seed", str(seed), "--out", str(out)]
    if steps:
        command += ["--steps", str(steps)]
    subprocess.run(command, check=True)


def table(folders):
    """Mean and standard error over the seeds of every figure, as columns.

    Args:
        folders: Folders of the runs by label.
    """
    columns = {
        key: [] for key in ("method", *SHOWN, "mean", "stderr_over_seeds", "seeds", "trials")
    }
    for label, runs in folders.items():
        found = [json.loads((out / measure.FIGURES).read_text()) for out in runs]
        for entries in zip(*found, strict=True):
            values = np.array([entry["value"] for entry in entries])
            spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            row = {
                "method": label,
                **{key: entries[0][key] for key in SHOWN},
                "mean": round(float(values.mean()), 5),
                "stderr_over_seeds": round(float(spread), 5),
                "seeds": len(values),
                "trials": entries[0]["trials"],
            }
            for key, value in row.items():
                columns[key].append(value)
    return columns


def figure(folders, caption):
    """Error curves of the methods, the mean over their seeds, from all trials of their runs."""
    results = {}
    for label, runs in folders.items():
        trials = [np.load(out / measure.TRIALS) for out in runs]
        results[label] = [
            evaluation.verification(each["scores"], each["genuine"]) for each in trials
        ]
    return reports.verification_curves(results, caption=caption)


def main(
    name: Annotated[str, typer.Argument(help="A model whose recipe has --method.")],
    seeds: Annotated[int, typer.Option(help="Runs of each method.")] = 3,
    steps: Annotated[int, typer.Option(help="Training steps; 0: the recipe's own.")] = 0,
    build: Annotated[pathlib.Path, typer.Option(help="Folder of the runs.")] = pathlib.Path(
        "build/compare"
    ),
):
    """Writes `figures/methods.png` and `methods.csv` into the model's folder of the zoo."""
    folders = {}
    for seed in range(seeds):
        for label, options in variants(name).items():
            out = build / name / f"{'_'.join(options).replace('-', '')}_{seed}"
            print(f"{label}, seed {seed}", file=sys.stderr, flush=True)
            run(name, options, seed, steps, out)
            folders.setdefault(label, []).append(out)
    target = pathlib.Path(__file__).parent / name / "figures" / "methods"
    caption = (
        "Single recordings of each unseen person's last session against everybody's earlier ones. "
        f"{seeds} seeds a method."
    )
    for path in reports.save(figure(folders, caption), target, table(folders)):
        print(path)


if __name__ == "__main__":
    typer.run(main)
