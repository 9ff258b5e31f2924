"""Pictures and tables of the comparison, as they are written, printed and put on the page."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from keras_dml import evaluation, reports
from keras_dml.reports import Section, style
from keras_dml.training import write_json
from keras_dml.training.trials import Trials
from zoo.papers.wasserstein import tables
from zoo.papers.wasserstein.experiment import Choice
from zoo.papers.wasserstein.measurements import (
    JENSEN_SHANNON,
    KULLBACK_LEIBLER,
    WASSERSTEIN,
    strict_trials,
)
from zoo.papers.wasserstein.methods import QP_WL
from zoo.papers.wasserstein.recordings import Division
from zoo.papers.wasserstein.tables import Results, Table, rows_with

FIGURES = "figures.json"
FILES = {
    "protocol.png": "verification, identification and imposters, here and in the paper",
    "roc_paper.png": "ROC and DET curves of the paper's verification",
    "roc_pooled.png": "ROC and DET curves of all recordings of a last block under one threshold",
    "distances.png": "distances within and between people, before and after training",
    "maps.png": "maps of the embeddings",
    "report.html": "all tables and pictures on one page",
    FIGURES: "all figures and the chosen settings, for programs",
}


def write(
    out: pathlib.Path,
    domain: str,
    division: Division,
    choices: Mapping[str, Choice],
    results: Results,
    divergence_results: Sequence[Mapping[str, Any]],
    *,
    source: str,
) -> tuple[dict[str, Table], list[pathlib.Path]]:
    """Writes the paper's table and figures for the recordings of a domain, and `figures.json`.

    Args:
        out: Folder.
        domain: Name of the domain.
        division: `Division` of the experiment.
        choices: Output of `Experiment.choose`.
        results: Output of `Experiment.compare`.
        divergence_results: Output of `Experiment.compare_divergences`.
        source: Data and license, a sentence.

    Returns:
        Dict of the tables by name, and the paths of the files.
    """
    trials = strict_trials(division.test)
    spread, separated = tables.spread(results)
    by_name = {
        "protocol": tables.protocol(results, domain),
        "pooled": tables.pooled(results, trials),
        "divergences": tables.divergences(divergence_results),
        "settings": tables.settings(choices),
    }
    people = (
        f"{len(division.test.names)} people never trained on; {len(division.train.names)} others "
        f"trained, {len(division.validation.names)} chose the settings."
    )
    seeds = len(results[QP_WL])
    caption = f"{people} {'One seed' if seeds == 1 else f'{seeds} seeds'}. {source}"
    pictures = {
        "protocol": (
            reports.protocol_curves(
                by_name["protocol"], title=_protocol_title(by_name["protocol"]), caption=caption
            ),
            by_name["protocol"],
        ),
        "roc_paper": (
            _curves_of_draws(results, f"Five recordings observed, first seed. {caption}"),
            None,
        ),
        "roc_pooled": (
            _curves_of_strict_trials(
                results, trials, f"Each recording of a person's last block. {caption}"
            ),
            by_name["pooled"],
        ),
        "distances": (
            reports.person_distances(
                spread, title=_spread_title(separated), caption=f"First seed. {caption}"
            ),
            spread,
        ),
        "maps": (_maps(results, f"First seed. {caption}"), tables.maps(results)),
    }
    paths = []
    for stem, (figure, table) in pictures.items():
        paths += reports.save(figure, out / stem, table)
    for name in ("divergences", "settings"):
        paths.append(style.save_table(by_name[name], out / f"{name}.csv"))
    content = {"figures": by_name["protocol"], **by_name, "separated": separated}
    return by_name, [*paths, write_json(out / FIGURES, content)]


def sections(by_name: Mapping[str, Table], relation: str, seeds: int) -> list[Section]:
    """Returns the tables of the page.

    Args:
        by_name: Tables by name, of `write`.
        relation: Relation of the data to the paper's data, a few words.
        seeds: Number of seeds of every network.
    """
    return [
        _verification_section(by_name["protocol"], relation),
        _eer_section(by_name["protocol"]),
        _identification_section(by_name["protocol"]),
        _pooled_section(by_name["pooled"], seeds),
        _divergence_section(by_name["divergences"]),
        _settings_section(by_name["settings"]),
    ]


def divergence_sentence(table: Table) -> str:
    """Returns a sentence about the paper's argument against other divergences.

    Args:
        table: Output of `tables.divergences`.
    """
    areas = dict(zip(table["distance"], table["auc_1"], strict=True))
    infinite = dict(zip(table["distance"], table["infinite"], strict=True))
    return (
        f"On QP-WL's embeddings with one recording observed, the Wasserstein distance has AUC "
        f"{areas[WASSERSTEIN]:.4f}, Jensen-Shannon {areas[JENSEN_SHANNON]:.4f} and "
        f"Kullback-Leibler {areas[KULLBACK_LEIBLER]:.4f}; "
        f"{style.percent(infinite[KULLBACK_LEIBLER])} of all Kullback-Leibler divergences are "
        "infinite."
    )


def _curves_of_draws(results: Results, caption: str) -> Figure:
    """Computes the error curves of the paper's verification, means over draws of recordings."""
    methods = {}
    for name, runs in results.items():
        draws = np.array(runs[0]["after"]["draws"])
        genuine = np.eye(round(draws.shape[1] ** 0.5), dtype=bool).ravel()
        methods[name] = [evaluation.verification(scores, genuine) for scores in draws]
    return reports.verification_curves(methods, caption=caption)


def _curves_of_strict_trials(results: Results, trials: Trials, caption: str) -> Figure:
    """Computes the error curves of the stricter trials, as means over seeds."""
    methods = {
        name: [evaluation.verification(run["scores"], trials.genuine) for run in runs]
        for name, runs in results.items()
    }
    return reports.verification_curves(methods, caption=caption)


def _maps(results: Results, caption: str) -> Figure:
    return reports.embedding_maps(
        tables.maps(results),
        title="Recordings of some of the tested people; each mark is one person",
        caption="Classical scaling of the distances to the plane; axes have no unit. " + caption,
    )


def _protocol_title(table):
    """Returns a title with the AUC of the best method and of QP-WL with one recording."""
    areas = {}
    for i, method in enumerate(table["method"]):
        key = table["protocol"][i], table["metric"][i], table["n"][i]
        if key == ("verification", "auc", 1):
            areas[method] = table["value"][i]
    best = max(areas, key=areas.get)
    texts = ", ".join(f"{name} {areas[name]:.4f}" for name in dict.fromkeys((best, QP_WL)))
    return f"AUC of verification by one recording: {texts}"


def _spread_title(separated):
    before, after = (style.percent(separated[stage][QP_WL]) for stage in ("before", "after"))
    return (
        "A pair of one person is closer than a pair of two people: "
        f"QP-WL {before} before training, {after} after"
    )


def _verification_section(table, relation):
    counts = sorted(set(table["n"]))
    rows = []
    for method in dict.fromkeys(table["method"]):
        indices = [_index(table, method, "verification", n, None, "auc") for n in counts]
        cells = (f"{table['value'][i]:.4f} ± {table['stderr'][i]:.4f}" for i in indices)
        rows.append((method, *cells))
        papers = [table["paper"][i] for i in indices]
        if None not in papers:
            rows.append((f"{method}, the paper", *(f"{value:.4f}" for value in papers)))
    text = (
        f"{table['people'][0]} people whom no network was trained on. Five recordings of each "
        "person are observed, and the others are enrolled."
    )
    if any(table["paper"]):
        text += (
            f" The rows marked as the paper's are its Table 1; the data used here are {relation}."
        )
    note = (
        "± is the standard error over ten random draws of recordings, as in the paper. It does not "
        "say how the figure varies over people."
    )
    left_out = table["left_out"][0]
    if left_out:
        note += f" {left_out} people with five recordings or fewer are left out."
    return Section(
        "AUC of verification, the paper's protocol",
        text,
        ("method", *map(str, counts)),
        rows,
        note,
        groups=(("", 1), ("number of recordings observed", len(counts))),
    )


def _eer_section(table):
    counts = sorted(set(table["n"]))
    rows = []
    for method in dict.fromkeys(table["method"]):
        indices = [_index(table, method, "verification", n, None, "eer") for n in counts]
        cells = (f"{100 * table['value'][i]:.1f} ± {100 * table['stderr'][i]:.1f}" for i in indices)
        rows.append((method, *cells))
    return Section(
        "EER of verification in %, the paper's protocol",
        "The trials of the table above. The paper does not print EERs.",
        ("method", *map(str, counts)),
        rows,
        groups=(("", 1), ("number of recordings observed", len(counts))),
    )


def _identification_section(table):
    most = max(table["n"])
    methods = dict.fromkeys(table["method"])
    columns, groups = ["method"], [("", 1)]
    rows = {method: [method] for method in methods}
    fractions = sorted({fraction for fraction in table["fraction"] if fraction is not None})
    for label, kind, metric in (
        ("identification: accuracy", "identification", "accuracy"),
        ("imposters: AUC", "imposters", "auc"),
        ("imposters: misidentified", "imposters", "misidentification"),
    ):
        count = 0
        for fraction in fractions:
            key = (kind, most, fraction, metric)
            if not rows_with(table, table["method"][0], *key):
                continue
            count += 1
            columns.append(f"{100 * fraction:g} %")
            for method, row in rows.items():
                row.append(_percent(table["value"][_index(table, method, *key)]))
        groups.append((label, count))
    return Section(
        f"Identification and imposters by {most} recordings in %, the paper's protocol",
        "The heads of the columns give the fraction of all people who are enrolled. Identification "
        "accuracy counts people whose nearest enrolled person is themselves. For imposters, half "
        "of the people are never enrolled: AUC separates them from enrolled people, and "
        "misidentified are enrolled people whose nearest enrolled person is somebody else.",
        tuple(columns),
        [tuple(row) for row in rows.values()],
        groups=tuple(group for group in groups if group[1]),
    )


def _pooled_section(table, seeds):
    rows = []
    for i, method in enumerate(table["method"]):
        eer = _interval(table["eer"][i], table["eer_low"][i], table["eer_high"][i])
        difference = "–"
        if table["difference"][i] is not None:
            ends = (table[f"difference{end}"][i] for end in ("", "_low", "_high"))
            difference = _interval(*ends, sign="+")
        rows.append((method, f"{table['auc'][i]:.4f}", eer, difference))
    return Section(
        "Every recording of a last block against all earlier recordings",
        f"All trials under one threshold, {'one seed' if seeds == 1 else f'{seeds} seeds'}; EER in "
        "%. These trials are stricter than the paper's: the observed and the enrolled recordings "
        "are never of the same walk, film or day, or of the same half of a sitting.",
        ("method", "AUC", "EER", "EER of QP-WL minus EER of the method"),
        rows,
        "Brackets are 95 % intervals of a bootstrap over people and seeds, paired in the last "
        "column. No network: log-Euclidean distances of the covariances of the channels. "
        "Untrained: QP-WL with random weights.",
    )


def _divergence_section(table):
    rows = []
    for i, name in enumerate(table["distance"]):
        areas = [
            f"{table[key][i]:.4f} ± {table[f'{key}_stderr'][i]:.4f}" for key in ("auc_1", "auc_5")
        ]
        rates = [_percent(table[key][i]) for key in ("eer_1", "accuracy_5", "infinite")]
        rows.append((name, *areas, *rates))
    return Section(
        "Other divergences between QP-WL's embeddings",
        "QP-WL's embeddings of some of the tested people, compared by the Wasserstein distance, "
        "which they were trained for, and by the divergences that the paper argues against. The "
        "paper's protocol with one or five recordings observed.",
        ("divergence", *("1 recording", "5 recordings"), "1 recording", "5 recordings", "pairs"),
        rows,
        "Jensen-Shannon: the sum over filters of the square root, which is a metric. "
        "Kullback-Leibler: the sum over filters. Infinite divergences count as equal and larger "
        "than all others.",
        groups=(("", 1), ("AUC", 2), ("EER, %", 1), ("identified, %", 1), ("infinite, %", 1)),
    )


def _settings_section(table):
    rows = list(zip(*table.values(), strict=True))
    return Section(
        "Chosen settings",
        "Each method uses the best settings of its grid, by the AUC of all pairs of recordings of "
        "the people who choose settings.",
        (
            "method",
            "candidates",
            "learning rate",
            "penalty on slopes",
            "scale in the loss",
            "AUC of pairs",
        ),
        [(*row[:-1], f"{row[-1]:.4f}") for row in rows],
    )


def _index(table, *key):
    (index,) = rows_with(table, *key)
    return index


def _interval(value, low, high, sign=""):
    return " ".join(
        (f"{100 * value:{sign}.1f}", f"[{100 * low:{sign}.1f} to {100 * high:{sign}.1f}]")
    )


def _percent(value):
    return f"{100 * value:.1f}"
