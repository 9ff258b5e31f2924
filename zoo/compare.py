"""Trains a model and other methods with several seeds each, and compares their figures.

Run `python -m zoo.compare gait_qp_wl` from the checkout. Finished runs are not repeated, and
stopped runs continue from their checkpoints.
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
    """Runs one training, unless its figures already exist."""
    if (out / measure.FIGURES).exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", f"zoo.{name}.train", *options, "--resume"]
    command += ["--seed", str(seed), "--out", str(out)]
    if steps:
        command += ["--steps", str(steps)]
    subprocess.run(command, check=True)


def table(folders):
    """Returns the columns of a table. For each figure, the table contains the mean and the standard
    error over seeds.

    Args:
        folders: Dictionary from the label of a method to the folders of its runs.
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
    """Returns the columns of a table with the pooled EER of the first method minus the EER of each
    other method.

    The 95 % intervals are from a bootstrap over people and seeds. For each difference, the two
    methods are compared on the same draws.

    Args:
        folders: Dictionary from the label of a method to the folders of its runs.
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
    """Draws people with replacement and returns the rows of their trials."""
    names, codes = np.unique([trials["probes"], trials["claims"]], return_inverse=True)
    probes, claims = codes.reshape(2, -1)
    times = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
    counts = np.where(trials["genuine"], times[probes], times[probes] * times[claims])
    return np.repeat(np.arange(len(counts)), counts)


def _eer(scores, genuine):
    return evaluation.verification(scores, genuine).eer


def figure(folders, caption):
    """Plots one error curve per method, from all trials. The curve is the mean over the seeds of
    the method.
    """
    results = {}
    for label, runs in folders.items():
        trials = [np.load(out / measure.TRIALS) for out in runs]
        results[label] = [
            evaluation.verification(each["scores"], each["genuine"]) for each in trials
        ]
    return reports.verification_curves(results, caption=caption)


def main(
    name: Annotated[str, typer.Argument(help="A model whose recipe has the option --method.")],
    seeds: Annotated[int, typer.Option(help="Number of runs per method.")] = 5,
    steps: Annotated[
        int, typer.Option(help="Number of training steps. With 0 the recipe decides.")
    ] = 0,
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
        "Each recording in a person's last block is compared with everybody's earlier recordings. "
        "The people were not used in training. "
        f"Each method was trained with {seeds} seeds{f' and {steps:,} steps' if steps else ''}."
    )
    for path in reports.save(figure(folders, caption), target, table(folders)):
        print(path)
    path = target.with_name("differences.csv")
    write_text(path, as_csv(differences(folders)))
    print(path)


if __name__ == "__main__":
    typer.run(main)
