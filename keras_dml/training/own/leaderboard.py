"""The leaderboard: figures of all methods on the same trials."""

from __future__ import annotations

import csv
import io

from keras_dml import evaluation, reports
from keras_dml._files import write_text
from keras_dml.training import pooled
from keras_dml.training._publish import FIGURES
from keras_dml.training.own import choice
from keras_dml.training.runs import write_json
from keras_dml.zoo import catalog

CSV, JSON, CURVES = "leaderboard.csv", "leaderboard.json", "roc_det"
TAR = "tar_at_far_0.01"
CHOSEN_FROM = (
    "Below are the methods that it was chosen from, on the same trials. The best of several looks "
    "better than it is: its interval does not count the choice."
)
COLUMNS = ("method", "EER", "AUC", catalog.metric_in_words(TAR), "seconds")


def rows(scored, chosen):
    """A dict a method, the best first.

    Args:
        scored: List of `across.Scored`.
        chosen: The `Method` that becomes the model.
    """
    return [_row(one, one.method == chosen) for one in sorted(scored, key=choice.rank)]


def _row(one, is_chosen):
    found = pooled.rows(one.joined)
    return {
        "method": one.method.name,
        "what": one.method.what,
        "chosen": is_chosen,
        **{row["metric"]: row["value"] for row in found},
        **{f"{row['metric']}_ci95": row["ci95"] for row in found},
        "seconds": round(one.seconds, 1),
    }


def cells(found):
    """Rows of texts under `COLUMNS`.

    Args:
        found: `rows`.
    """
    for row in found:
        yield (
            f"{row['method']}{' *' if row['chosen'] else ''}",
            _rate(row, "eer"),
            f"{row['auc']:.4f}",
            _rate(row, TAR),
            f"{row['seconds']:g}",
        )


def text(found):
    """The leaderboard as lines of text; empty where there is none."""
    lines = [COLUMNS, *cells(found)] if found else []
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ([one.ljust(width) for one, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("  ".join(line).rstrip() for line in padded)


def expected(card):
    """What to expect of the model, the choice of its method included, as a line of text.

    Args:
        card: Card of a model of one's own, with a figure.
    """
    return f"{card['name']}: {', '.join(catalog.figures_in_words(card))}. {card['choice']}"


def save(found, folder):
    """Writes the leaderboard as CSV and JSON.

    Args:
        found: `rows`.
        folder: A `pathlib.Path` that exists.
    """
    write_json(folder / JSON, found)
    written = io.StringIO()
    plain = [{k: v for k, v in row.items() if not k.endswith("_ci95")} for row in found]
    names = dict.fromkeys(name for row in plain for name in row)
    writer = csv.DictWriter(written, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain)
    write_text(folder / CSV, written.getvalue())


def curves(scored, folder, caption):
    """Writes the error curves of all methods, and returns the path of the image.

    Args:
        scored: List of `across.Scored`.
        folder: A `pathlib.Path` that exists.
        caption: What the trials are.
    """
    found = {}
    for one in sorted(scored, key=choice.rank):
        joined = one.joined
        found[one.method.name] = evaluation.verification(joined.scores, joined.genuine)
    reports.save(reports.verification_curves(found, caption=caption), folder / CURVES)
    return folder / f"{CURVES}.png"


def remove_curves(folder):
    """Deletes the image of an earlier model from its page's figures.

    Args:
        folder: Folder of the model, a `pathlib.Path`.
    """
    (folder / FIGURES / f"{CURVES}.png").unlink(missing_ok=True)


def _rate(row, metric):
    if metric not in row:
        return "–"
    return catalog.with_interval(row[metric], row[f"{metric}_ci95"])
