"""Creates the pictures and tables of the comparison for files, for stdout and for the page."""

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
    "roc_paper.png": "ROC and DET curves of verification with the paper's protocol",
    "roc_pooled.png": "ROC and DET curves of all recordings in last blocks, with one threshold",
    "distances.png": "distances within and between people, before and after training",
    "maps.png": "maps of the embeddings",
    "report.html": "all tables and pictures on one page",
    FIGURES: "all figures and the chosen settings as JSON",
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
    """Computes the table and the figures of the paper from the recordings of a domain. Writes the
    table, the figures and `figures.json`.

    Args:
        out: Folder.
        domain: Name of the domain.
        division: `Division` that the experiment uses.
        choices: Output of `Experiment.choose`.
        results: Output of `Experiment.compare`.
        divergence_results: Output of `Experiment.compare_divergences`.
        source: Text that describes the data and names their license.

    Returns:
        Dictionary from names to tables, and the paths of the files.
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
        f"{len(division.test.names)} people are tested. The networks were trained on "
        f"{len(division.train.names)} other people, and the settings were chosen on "
        f"{len(division.validation.names)} other people."
    )
    seeds = len(results[QP_WL])
    seed_text = "one seed" if seeds == 1 else f"{seeds} seeds"
    caption = f"{people} The methods are trained with {seed_text}. {source}"
    pictures = {
        "protocol": (
            reports.protocol_curves(
                by_name["protocol"], title=_protocol_title(by_name["protocol"]), caption=caption
            ),
            by_name["protocol"],
        ),
        "roc_paper": (
            _curves_of_draws(
                results, f"Five recordings are observed. Curves of the first seed. {caption}"
            ),
            None,
        ),
        "roc_pooled": (
            _curves_of_strict_trials(
                results,
                trials,
                f"The probes are all recordings in a person's last block. {caption}",
            ),
            by_name["pooled"],
        ),
        "distances": (
            reports.person_distances(
                spread,
                title=_spread_title(separated),
                caption=f"Distances of the first seed. {caption}",
            ),
            spread,
        ),
        "maps": (_maps(results, f"Maps of the first seed. {caption}"), tables.maps(results)),
    }
    paths = []
    for stem, (figure, table) in pictures.items():
        paths += reports.save(figure, out / stem, table)
    for name in ("divergences", "settings"):
        paths.append(style.save_table(by_name[name], out / f"{name}.csv"))
    content = {"figures": by_name["protocol"], **by_name, "separated": separated}
    return by_name, [*paths, write_json(out / FIGURES, content)]


def sections(by_name: Mapping[str, Table], relation: str, seeds: int) -> list[Section]:
    """Returns the sections of the page, which contain the tables.

    Args:
        by_name: Dictionary from names to tables, output of `write`.
        relation: Words that say how the data are related to the data of the paper.
        seeds: Number of seeds with which each network was trained.
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
    """Returns a sentence that compares the Wasserstein distance with other divergences.

    Args:
        table: Output of `tables.divergences`.
    """
    areas = dict(zip(table["distance"], table["auc_1"], strict=True))
    infinite = dict(zip(table["distance"], table["infinite"], strict=True))
    return (
        "On QP-WL's embeddings with one observed recording, the AUC is "
        f"{areas[WASSERSTEIN]:.4f} for the Wasserstein distance, "
        f"{areas[JENSEN_SHANNON]:.4f} for the Jensen-Shannon divergence and "
        f"{areas[KULLBACK_LEIBLER]:.4f} for the Kullback-Leibler divergence. "
        f"{style.percent(infinite[KULLBACK_LEIBLER])} of all Kullback-Leibler divergences are "
        "infinite."
    )


def _curves_of_draws(results: Results, caption: str) -> Figure:
    """Plots the error curves of verification in the paper's protocol, averaged over draws of
    recordings.
    """
    methods = {}
    for name, runs in results.items():
        draws = np.array(runs[0]["after"]["draws"])
        genuine = np.eye(round(draws.shape[1] ** 0.5), dtype=bool).ravel()
        methods[name] = [evaluation.verification(scores, genuine) for scores in draws]
    return reports.verification_curves(methods, caption=caption)


def _curves_of_strict_trials(results: Results, trials: Trials, caption: str) -> Figure:
    """Plots the error curves of the stricter trials, averaged over seeds."""
    methods = {
        name: [evaluation.verification(run["scores"], trials.genuine) for run in runs]
        for name, runs in results.items()
    }
    return reports.verification_curves(methods, caption=caption)


def _maps(results: Results, caption: str) -> Figure:
    return reports.embedding_maps(
        tables.maps(results),
        title="Recordings of some of the tested people, with one kind of mark per person",
        caption="Classical scaling maps the distances to the plane. The axes have no unit. "
        + caption,
    )


def _protocol_title(table):
    """Returns a title that contains the AUC of the best method and the AUC of QP-WL. The AUCs are
    for one new recording per person.
    """
    areas = {}
    for i, method in enumerate(table["method"]):
        key = table["protocol"][i], table["metric"][i], table["n"][i]
        if key == ("verification", "auc", 1):
            areas[method] = table["value"][i]
    best = max(areas, key=areas.get)
    texts = ", ".join(f"{name} {areas[name]:.4f}" for name in dict.fromkeys((best, QP_WL)))
    return f"AUC of verification with one recording: {texts}"


def _spread_title(separated):
    before, after = (style.percent(separated[stage][QP_WL]) for stage in ("before", "after"))
    return (
        "How often two recordings of one person are closer than recordings of two people: QP-WL "
        f"{before} before training, {after} after"
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
        f"No network was trained on the {table['people'][0]} people of this table. Five recordings "
        "of each person are observed, and the other recordings are enrolled."
    )
    if any(table["paper"]):
        text += (
            " The rows marked as the paper's contain the figures in Table 1 of the paper. The data "
            f"of the other rows are {relation}."
        )
    note = (
        "Numbers after ± are standard errors over ten random draws of recordings, as in the paper. "
        "They do not describe how the figures vary over people."
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
        "EER of verification in %, by the paper's protocol",
        "The EERs are from the trials of the table above. The paper does not contain EERs.",
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
        f"Identification and imposters with {most} recordings in %, by the paper's protocol",
        "The headings of the columns give the fraction of all people who are enrolled. The "
        "accuracy of identification is the fraction of people whose nearest enrolled template is "
        "their own. For imposters, half of the people are never enrolled. The AUC describes how "
        "well imposters are separated from enrolled people. An enrolled person is misidentified if "
        "the nearest enrolled template is another person's.",
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
        f"All trials of {'one seed' if seeds == 1 else f'{seeds} seeds'} use one threshold. EERs "
        "are in %. The trials are stricter than the trials of the paper: observed and enrolled "
        "recordings are never from the same walk, film, day or half of a sitting.",
        ("method", "AUC", "EER", "EER of QP-WL minus EER of the method"),
        rows,
        "Brackets contain 95 % intervals of a bootstrap over people and seeds. In the last column "
        'the bootstrap is paired. "No network" compares the covariances of the channels by the '
        'log-Euclidean distance. "Untrained" is QP-WL with random weights.',
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
        "QP-WL's embeddings of some of the tested people are compared by the Wasserstein distance, "
        "for which they were trained, and by the divergences that the paper argues against. The "
        "figures are from the paper's protocol with one or five observed recordings.",
        ("divergence", *("1 recording", "5 recordings"), "1 recording", "5 recordings", "pairs"),
        rows,
        "The square root of the Jensen-Shannon divergence is a metric. These square roots are "
        "summed over filters. The Kullback-Leibler divergences themselves are summed over filters. "
        "All infinite divergences are replaced by the same number, which is larger than all finite "
        "divergences.",
        groups=(("", 1), ("AUC", 2), ("EER, %", 1), ("identified, %", 1), ("infinite, %", 1)),
    )


def _settings_section(table):
    rows = list(zip(*table.values(), strict=True))
    return Section(
        "Chosen settings",
        "For each method, the settings with the highest AUC are chosen from a grid. The AUC is "
        "measured on all pairs of recordings by the validation people.",
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
