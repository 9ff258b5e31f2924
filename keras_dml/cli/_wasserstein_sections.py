"""Tables of `keras-dml reproduce wasserstein`, as they are printed and stand on its page."""

from keras_dml.reports import Section


def all_of(tables, relation, seeds):
    """The sections of the page.

    Args:
        tables: Dict of tables, of `plots.write`.
        relation: How the data stand to the paper's, a few words.
        seeds: Number of seeds of every network.

    Returns:
        List of `keras_dml.reports.Section`.
    """
    return [
        _verification(tables["protocol"], relation),
        _errors(tables["protocol"]),
        _others(tables["protocol"]),
        _pooled(tables["pooled"], seeds),
        _divergences(tables["divergences"]),
        _settings(tables["settings"]),
    ]


def _verification(table, relation):
    counts = sorted(set(table["n"]))
    rows = []
    for method in dict.fromkeys(table["method"]):
        at = [_at(table, method, "verification", n, None, "auc") for n in counts]
        rows.append((method, *(f"{table['value'][i]:.4f} ± {table['stderr'][i]:.4f}" for i in at)))
        papers = [table["paper"][i] for i in at]
        if None not in papers:
            rows.append(("  the paper", *(f"{value:.4f}" for value in papers)))
    beside = (
        f" The paper's rows are its Table 1; ours is {relation}." if any(table["paper"]) else ""
    )
    people, left_out = table["people"][0], table["left_out"][0]
    note = "± standard error over ten draws, as in the paper; not over people."
    if left_out:
        note += f" {left_out} people with five recordings or fewer are left out."
    return Section(
        "AUC of verification by n recordings, the paper's protocol",
        f"{people} people never trained on; of each, five recordings are observed and the others "
        f"enrolled.{beside}",
        ("", *(f"n = {n}" for n in counts)),
        rows,
        note,
    )


def _errors(table):
    counts = sorted(set(table["n"]))
    rows = []
    for method in dict.fromkeys(table["method"]):
        at = [_at(table, method, "verification", n, None, "eer") for n in counts]
        shown = (f"{100 * table['value'][i]:.1f} ± {100 * table['stderr'][i]:.1f}" for i in at)
        rows.append((method, *shown))
    return Section(
        "EER of verification by n recordings, in %",
        "The same trials; the paper has no EER in print.",
        ("", *(f"n = {n}" for n in counts)),
        rows,
    )


def _others(table):
    most = max(table["n"])
    methods = dict.fromkeys(table["method"])
    columns, rows = [""], {method: [method] for method in methods}
    for kind, metric in (
        ("identification", "accuracy"),
        ("imposters", "auc"),
        ("imposters", "misidentification"),
    ):
        for fraction in sorted({one for one in table["fraction"] if one is not None}):
            key = (kind, most, fraction, metric)
            if not _rows(table, table["method"][0], *key):
                continue
            columns.append(f"{100 * fraction:g} %")
            for method, row in rows.items():
                row.append(_percent(table["value"][_at(table, method, *key)]))
        columns.append("|")
        for row in rows.values():
            row.append("|")
    return Section(
        f"Identification and imposters by {most} recordings, the paper's protocol",
        "By the fraction of all people enrolled, in %. Left: rightly identified. Middle: AUC "
        "against imposters, half of the people, never enrolled. Right: whose nearest person is "
        "another, of those enrolled beside imposters.",
        tuple(columns[:-1]),
        [tuple(row[:-1]) for row in rows.values()],
    )


def _pooled(table, seeds):
    rows = []
    for i, method in enumerate(table["method"]):
        eer = _interval(table["eer"][i], table["eer_low"][i], table["eer_high"][i])
        apart = "–"
        if table["difference"][i] is not None:
            ends = (table[f"difference{end}"][i] for end in ("", "_low", "_high"))
            apart = _interval(*ends, sign="+")
        rows.append((method, f"{table['auc'][i]:.4f}", eer, apart))
    return Section(
        "Every recording of a last block against everybody's earlier ones",
        f"All trials under one threshold, {'one seed' if seeds == 1 else f'{seeds} seeds'}; EER in "
        "%. Stricter than the paper: no walk, film, day or half of a sitting is on both sides.",
        ("", "AUC", "EER", "EER of QP-WL less this"),
        rows,
        "In brackets: 95 % intervals of a bootstrap over people and seeds, paired in the last "
        "column. No network: log-Euclidean distances of the channels' covariances. Untrained: "
        "QP-WL's random start.",
    )


def _divergences(table):
    rows = []
    for i, name in enumerate(table["distance"]):
        areas = [
            f"{table[key][i]:.4f} ± {table[f'{key}_stderr'][i]:.4f}" for key in ("auc_1", "auc_5")
        ]
        rates = [_percent(table[key][i]) for key in ("eer_1", "accuracy_5", "infinite")]
        rows.append((name, *areas, *rates))
    return Section(
        "What the paper argues against",
        "QP-WL's embeddings of some of the tested people, by the Wasserstein distance that they "
        "were trained for, and by divergences of the same activations; the paper's protocol.",
        ("", "AUC, n = 1", "AUC, n = 5", "EER, n = 1, %", "identified, n = 5, %", "infinite, %"),
        rows,
        "Jensen-Shannon: the sum over filters of the square root, a metric. Kullback-Leibler: the "
        "sum over filters; infinite ones are all alike, larger than any other.",
    )


def _settings(table):
    rows = list(zip(*table.values(), strict=True))
    return Section(
        "Settings",
        "Each method's own best of one grid, by the people who choose: the area under the curve of "
        "all pairs of their recordings.",
        ("", "tried", "learning rate", "penalty on slopes", "scale in the loss", "AUC of pairs"),
        [(*row[:-1], f"{row[-1]:.4f}") for row in rows],
    )


def _rows(table, method, kind, n, fraction, metric):
    wanted = (method, kind, n, fraction, metric)
    names = ("method", "protocol", "n", "fraction", "metric")
    keys = zip(*(table[name] for name in names), strict=True)
    return [i for i, key in enumerate(keys) if key == wanted]


def _at(table, *wanted):
    (found,) = _rows(table, *wanted)
    return found


def _interval(value, low, high, sign=""):
    return " ".join(
        (f"{100 * value:{sign}.1f}", f"[{100 * low:{sign}.1f} to {100 * high:{sign}.1f}]")
    )


def _percent(value):
    return f"{100 * value:.1f}"
