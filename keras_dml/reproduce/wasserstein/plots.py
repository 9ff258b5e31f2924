"""Plots of the comparison with their tables, and one file of all figures."""

import numpy as np

from keras_dml import evaluation, reports
from keras_dml.reports import style
from keras_dml.reproduce.wasserstein import tables
from keras_dml.reproduce.wasserstein.figures import (
    JENSEN_SHANNON,
    KULLBACK_LEIBLER,
    WASSERSTEIN,
    trials_of,
)
from keras_dml.reproduce.wasserstein.methods import QP_WL
from keras_dml.training import write_json


def write(out, domain, division, choices, results, diverged, *, source):
    """Writes the paper's table and figures on these recordings, and `figures.json`.

    Args:
        out: Folder, a `pathlib.Path`.
        domain: Name of the domain.
        division, choices, results, diverged: Of `Experiment`.
        source: Data and license, a sentence.

    Returns:
        Dict of the tables by name, and the paths written.
    """
    trials = trials_of(division.test)
    spread, separated = tables.spread(results)
    found = {
        "protocol": tables.protocol(results, domain),
        "pooled": tables.pooled(results, trials),
        "divergences": tables.divergences(diverged),
        "settings": tables.settings(choices),
    }
    who = (
        f"{len(division.test.names)} people never trained on; {len(division.train.names)} others "
        f"trained, {len(division.validation.names)} chose the settings."
    )
    seeds = len(results[QP_WL])
    counted = "One seed." if seeds == 1 else f"{seeds} seeds."
    caption = f"{who} {counted} {source}"
    drawn = {
        "protocol": (
            reports.protocol_curves(
                found["protocol"], title=_protocol_title(found["protocol"]), caption=caption
            ),
            found["protocol"],
        ),
        "roc_paper": (
            _draws(results, f"Five recordings observed, first seed. {caption}"),
            None,
        ),
        "roc_pooled": (
            _pooled(results, trials, f"Each recording of a person's last block. {caption}"),
            found["pooled"],
        ),
        "distances": (
            reports.person_distances(
                spread, title=_spread_title(separated), caption=f"First seed. {caption}"
            ),
            spread,
        ),
        "maps": (_maps(results, f"First seed. {caption}"), tables.maps(results)),
    }
    written = []
    for stem, (figure, table) in drawn.items():
        written += reports.save(figure, out / stem, table)
    for name in ("divergences", "settings"):
        written.append(style.save_table(found[name], out / f"{name}.csv"))
    everything = {"figures": found["protocol"], **found, "separated": separated}
    return found, [*written, write_json(out / "figures.json", everything)]


def _draws(results, caption):
    """Curves of the paper's verification, means over the draws of recordings."""
    methods = {}
    for name, runs in results.items():
        scores = np.array(runs[0]["after"]["draws"])
        genuine = np.eye(round(scores.shape[1] ** 0.5), dtype=bool).ravel()
        methods[name] = [evaluation.verification(one, genuine) for one in scores]
    return reports.verification_curves(methods, caption=caption)


def _pooled(results, trials, caption):
    """Curves of the stricter trials, means over seeds."""
    methods = {
        name: [evaluation.verification(run["scores"], trials.genuine) for run in runs]
        for name, runs in results.items()
    }
    return reports.verification_curves(methods, caption=caption)


def _maps(results, caption):
    return reports.embedding_maps(
        tables.maps(results),
        title="Recordings of some of the tested people, a mark each person",
        caption="Classical scaling of the distances to the plane; axes have no unit. " + caption,
    )


def _protocol_title(table):
    """AUC of one recording of the best method and of QP-WL."""
    areas = {}
    for i, method in enumerate(table["method"]):
        key = table["protocol"][i], table["metric"][i], table["n"][i]
        if key == ("verification", "auc", 1):
            areas[method] = table["value"][i]
    best = max(areas, key=areas.get)
    named = ", ".join(f"{name} {areas[name]:.4f}" for name in dict.fromkeys((best, QP_WL)))
    return f"AUC of verification by one recording: {named}"


def _spread_title(separated):
    before, after = (style.percent(separated[stage][QP_WL]) for stage in ("before", "after"))
    return (
        "Pairs of one person closer than pairs of two: "
        f"QP-WL {before} before training, {after} after"
    )


def claim(table):
    """What a table of `tables.divergences` says of the paper's argument, a sentence.

    Args:
        table: Output of `tables.divergences`.
    """
    areas = dict(zip(table["distance"], table["auc_1"], strict=True))
    infinite = dict(zip(table["distance"], table["infinite"], strict=True))
    return (
        f"On QP-WL's embeddings the Wasserstein distance has AUC {areas[WASSERSTEIN]:.4f} with one "
        f"recording observed, Jensen-Shannon {areas[JENSEN_SHANNON]:.4f}, Kullback-Leibler "
        f"{areas[KULLBACK_LEIBLER]:.4f}; of the latter {style.percent(infinite[KULLBACK_LEIBLER])} "
        "of all distances are infinite."
    )
