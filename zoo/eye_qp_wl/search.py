"""Compares settings of `eye_qp_wl` and of the other methods by nested cross-validation over people.

Each run trains a model without two of the six folds and measures the model on these two folds. The
two folds form a pair. For each fold, `zoo.eye_qp_wl.train` uses the settings that were best on the
other fold of the pair. Each run writes one line of JSON into the folder `--out`. Existing runs are
not repeated, and stopped runs continue. To list the options, run
`python -m zoo.eye_qp_wl.search --help`.
"""

import pathlib
from typing import Annotated

import typer

from keras_dml._files import write_text
from zoo import across_films, eyes, recipe, searches, sequences
from zoo.compare import as_csv
from zoo.eye_qp_wl import train

HALF = across_films.FOLDS // 2


def run_once(method, variant, pair, steps, seed, out):
    """Trains a model without two folds of people, and computes the area under the ROC curve on each
    of the two folds.

    Args:
        method: One of `sequences.METHODS`.
        variant: Name of a variant of the method's settings.
        pair: Number of the first of the two folds. The number of the second fold is larger by half
            the number of folds.
        steps: Training steps.
        seed: Seed of weights and batches.
        out: Folder of the checkpoint.
    """
    watchers = eyes.one_eye()
    divided = across_films.groups(watchers)
    folds = divided[pair], divided[pair + HALF]
    out.mkdir(parents=True, exist_ok=True)
    run = recipe.Run("eye_qp_wl", out, out, steps, seed, resume=True)
    settings = train.Settings(**train.VARIANTS[variant])
    encoder = train.trained(run, method, watchers.without(folds[0] + folds[1]), settings)
    between, windows = across_films.of_encoder(encoder), watchers.windows(eyes.WINDOW)
    return [across_films.auc(between, windows.select(fold)) for fold in folds]


def table(lines):
    """Returns the columns of a table with the area under the ROC curve of each variant on the six
    folds. Variants without results for all folds are omitted.

    Args:
        lines: Dictionaries of the runs, all with the same number of steps.
    """
    by_variant = {}
    for line in lines:
        areas = by_variant.setdefault((line["method"], line["variant"], line["steps"]), {})
        for fold, area in zip((line["pair"], line["pair"] + HALF), line["auc"], strict=True):
            areas[fold] = area
    columns = {}
    for (method, variant, steps), areas in by_variant.items():
        if len(areas) < across_films.FOLDS:
            continue
        row = {"method": method, "variant": variant, "steps": steps}
        row |= {f"fold {fold + 1}": round(areas[fold], 5) for fold in sorted(areas)}
        for key, value in row.items():
            columns.setdefault(key, []).append(value)
    return columns


def main(
    out: Annotated[pathlib.Path, typer.Option(help="Folder of the runs.")] = pathlib.Path(
        "build/eye_search"
    ),
    steps: Annotated[int, typer.Option(help="Training steps of a run.")] = train.STEPS,
    seed: Annotated[int, typer.Option(help="Seed of all runs.")] = 0,
    method: Annotated[list[str] | None, typer.Option(help="Methods. Default: all four.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Variants. Default: all.")] = None,
):
    """Runs all settings that have no results yet. Then writes `figures/search.csv` from the runs
    with the given number of steps.
    """
    searches.check({"method": (method, sequences.METHODS), "variant": (variant, train.VARIANTS)})
    wanted = [
        {"method": settings, "variant": changed, "pair": pair, "steps": steps, "seed": seed}
        for settings in method or sequences.METHODS
        for changed in variant or train.VARIANTS
        for pair in range(HALF)
    ]

    def run(settings):
        folder = out / "_".join(str(value) for value in settings.values()).replace(" ", "_")
        return {"auc": run_once(**settings, out=folder)}

    lines = searches.completed(out / "runs.jsonl", wanted, run)
    matching = [line for line in lines if (line["steps"], line["seed"]) == (steps, seed)]
    text = as_csv(table(matching))
    train.SEARCHED.parent.mkdir(exist_ok=True)
    write_text(train.SEARCHED, text)
    print(f"{text}{train.SEARCHED}")


if __name__ == "__main__":
    typer.run(main)
