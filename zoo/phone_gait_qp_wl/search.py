"""Compares inputs and augmentations of `phone_gait_qp_wl` by nested cross-validation over groups of
people.

Each run trains a model without the two groups of a pair and measures the model on each of the two
groups. Each run writes one line of JSON into the folder `--out`. Existing runs are not repeated,
and stopped runs continue from their checkpoints. The recipe chooses its settings from the table
`figures/search.csv`. To list the options, run `python -m zoo.phone_gait_qp_wl.search --help`.
"""

import pathlib
import time
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation
from keras_dml._files import write_text
from zoo import phone, recipe, searches
from zoo.compare import as_csv
from zoo.phone_gait_qp_wl import train

PAIRS = phone.GROUPS // 2
CHOICE = "single pairs, turned"  # EER by which `train.choose_variants` chooses


def run_once(variant, pair, seed, steps, out):
    """Trains a model without the two groups of a pair, and computes the figures of each of the two
    groups.

    Returns:
        A dictionary `{number of the group: {figure: EER}}`, and the processor time in seconds.
    """
    walkers = phone.walks()
    groups, start = phone.groups(walkers), time.process_time()
    left_out = groups[pair] + groups[pair + PAIRS]
    out.mkdir(parents=True, exist_ok=True)
    run = recipe.Run("phone_gait_qp_wl", out, out, steps, seed, resume=True)
    encoder = train.trained(run, walkers.without(left_out), train.settings_of(variant))
    seconds = time.process_time() - start
    between = phone.of_model(encoder)
    results = {
        number: figures(phone.Group(between, walkers, groups[number]))
        for number in (pair, pair + PAIRS)
    }
    return results, seconds


def figures(group):
    """Computes four EERs of a group and returns a dictionary from their names to their values."""
    kinds = {"single pairs": group.pairs, "pooled": group.trials}
    rates = {}
    for name, claims in kinds.items():
        for turn, suffix in ((False, ""), (True, ", turned")):
            pairs = claims(turn)
            rates[name + suffix] = float(evaluation.verification(pairs.scores, pairs.genuine).eer)
    return rates


def table(lines):
    """Returns the columns of a table. The columns contain means over groups and seeds. For each
    group, a column contains the EER by which settings are chosen.

    Args:
        lines: Dictionaries of the runs.
    """
    columns = {}
    for variant, steps in dict.fromkeys((line["variant"], line["steps"]) for line in lines):
        runs = [line for line in lines if (line["variant"], line["steps"]) == (variant, steps)]
        parts = [part for line in runs for part in line["figures"].items()]
        row = {"variant": variant, "steps": steps, "runs": len(runs)}
        for name in parts[0][1]:
            row[f"{name} EER"] = round(float(np.mean([part[name] for _, part in parts])), 4)
        row["minutes"] = round(sum(line["seconds"] for line in runs) / len(runs) / 60, 1)
        for number in range(phone.GROUPS):
            values = [part[CHOICE] for group, part in parts if int(group) == number]
            row[f"group {number + 1}"] = round(float(np.mean(values)), 4) if values else None
        for key, value in row.items():
            columns.setdefault(key, []).append(value)
    return columns


def main(
    out: Annotated[pathlib.Path, typer.Option(help="Folder of the runs.")] = pathlib.Path(
        "build/phone_search"
    ),
    steps: Annotated[int, typer.Option(help="Training steps of a run.")] = train.STEPS,
    seed: Annotated[int, typer.Option(help="Seed of all runs.")] = 0,
    pair: Annotated[list[int] | None, typer.Option(help="Pairs of groups. Default: all.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Variants. Default: all.")] = None,
    table_to: Annotated[pathlib.Path, typer.Option("--table", help="The table.")] = train.SEARCH,
):
    """Runs all variants that have no results yet, for one pair of groups after the other, and
    writes the table.
    """
    searches.check({"pair": (pair, range(PAIRS)), "variant": (variant, train.VARIANTS)})
    wanted = [
        {"variant": name, "pair": number, "seed": seed, "steps": steps}
        for number in pair or range(PAIRS)
        for name in variant or train.VARIANTS
    ]

    def run(settings):
        place = list(train.VARIANTS).index(settings["variant"])
        folder = out / f"variant_{place}_pair_{settings['pair']}_seed_{seed}_steps_{steps}"
        results, seconds = run_once(**settings, out=folder)
        return {"figures": results, "seconds": round(seconds)}

    lines = searches.completed(out / "runs.jsonl", wanted, run)
    text = as_csv(table(lines))
    table_to.parent.mkdir(parents=True, exist_ok=True)
    write_text(table_to, text)
    print(f"{text}{table_to}")


if __name__ == "__main__":
    typer.run(main)
