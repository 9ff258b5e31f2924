"""Makes the leaderboard of a training, which compares all methods on the same trials."""

from __future__ import annotations

import csv
import io
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from keras_dml import evaluation, reports
from keras_dml._files import write_text
from keras_dml.training import pooled
from keras_dml.training._publish import FIGURES
from keras_dml.training.own.cross_validation import Evaluation, rank
from keras_dml.training.runs import write_json
from keras_dml.zoo import catalog

if TYPE_CHECKING:
    from keras_dml.training.own.methods import Method

CSV, JSON, CURVES = "leaderboard.csv", "leaderboard.json", "roc_det"
TAR = "tar_at_far_0.01"
CHOSEN_FROM = (
    "The model was chosen from the methods below, which are measured on the same trials. The best "
    "of several methods looks better than it is, because its interval ignores that the method was "
    "chosen."
)
COLUMNS = ("method", "EER", "AUC", catalog.metric_in_words(TAR), "seconds")


def rows(evaluations: list[Evaluation], chosen: Method) -> list[dict[str, Any]]:
    """Returns one dict per method, the best method first.

    Args:
        evaluations: Evaluations of all methods.
        chosen: Method with which the model is trained.
    """
    return [_row(each, each.method == chosen) for each in sorted(evaluations, key=rank)]


def _row(evaluated, is_chosen):
    figures = pooled.rows(evaluated.trials)
    return {
        "method": evaluated.method.name,
        "what": evaluated.method.what,
        "chosen": is_chosen,
        **{row["metric"]: row["value"] for row in figures},
        **{f"{row['metric']}_ci95": row["ci95"] for row in figures},
        "seconds": round(evaluated.seconds, 1),
    }


def cells(leaderboard: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yields the cells of each row as texts, in the order of `COLUMNS`.

    Args:
        leaderboard: Result of `rows`.
    """
    for row in leaderboard:
        yield (
            f"{row['method']}{' *' if row['chosen'] else ''}",
            _rate(row, "eer"),
            f"{row['auc']:.4f}",
            _rate(row, TAR),
            f"{row['seconds']:g}",
        )


def text(leaderboard: list[dict[str, Any]]) -> str:
    """Formats the leaderboard as lines of text. The text is empty if the leaderboard is empty."""
    lines = [COLUMNS, *cells(leaderboard)] if leaderboard else []
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (
        [cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines
    )
    return "\n".join("  ".join(line).rstrip() for line in padded)


def headline(card: dict[str, Any]) -> str:
    """Formats the main result of the model. The error rates include the effect of choosing the best
    method.

    Args:
        card: Card of a trained model that has figures.
    """
    return f"{card['name']}: {', '.join(catalog.figures_in_words(card))}. {card['choice']}"


def save(leaderboard: list[dict[str, Any]], folder: pathlib.Path) -> None:
    """Writes the leaderboard to a CSV file and a JSON file.

    Args:
        leaderboard: Result of `rows`.
        folder: An existing folder.
    """
    write_json(folder / JSON, leaderboard)
    buffer = io.StringIO()
    plain = [{k: v for k, v in row.items() if not k.endswith("_ci95")} for row in leaderboard]
    names = dict.fromkeys(name for row in plain for name in row)
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain)
    write_text(folder / CSV, buffer.getvalue())


def curves(evaluations: list[Evaluation], folder: pathlib.Path, caption: str) -> pathlib.Path:
    """Writes the error curves (ROC and DET) of all methods, and returns the path of the image.

    Args:
        evaluations: Evaluations of all methods.
        folder: An existing folder.
        caption: Description of the trials.
    """
    figures = {}
    for each in sorted(evaluations, key=rank):
        joined = each.trials
        figures[each.method.name] = evaluation.verification(joined.scores, joined.genuine)
    reports.save(reports.verification_curves(figures, caption=caption), folder / CURVES)
    return folder / f"{CURVES}.png"


def remove_curves(folder: pathlib.Path) -> None:
    """Deletes the image of an earlier model from the figures of its page.

    Args:
        folder: Folder of the model.
    """
    (folder / FIGURES / f"{CURVES}.png").unlink(missing_ok=True)


def _rate(row, metric):
    if metric not in row:
        return "–"
    return catalog.with_interval(row[metric], row[f"{metric}_ci95"])
