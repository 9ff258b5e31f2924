"""Plots of the experiment with their tables, and one file of all figures."""

from keras_dml import reports
from keras_dml.reports import style
from keras_dml.reproduce.potato import tables
from keras_dml.reproduce.potato.methods import RPL
from keras_dml.reproduce.potato.plan import NO_NETWORK, REFERENCES
from keras_dml.training import write_json


def write(out, choices, rows, spreads, ablations, *, seeds, source):
    """Writes Table I, Figures 2 to 5 and `figures.json`.

    Args:
        out: Folder, a `pathlib.Path`.
        choices, rows, spreads, ablations: Of `Experiment`.
        seeds: Number of seeds of every network tested.
        source: Data and license, a sentence.

    Returns:
        The table of the comparison, and the paths written.
    """
    compared, by_person = tables.comparison(rows), tables.people(rows)
    spread = tables.spread(spreads)
    who = ", ".join(dict.fromkeys(by_person["person"]))
    protocol = (
        f"Each of {who} held out in turn, neither trained on nor in the gallery; every loss on the "
        "same SPD network with its own best of one grid on another person."
    )
    caption = f"{protocol} Means over people, then over {_counted(seeds)}. {source}"
    written = reports.save(
        reports.loss_comparison(
            compared, figures=tables.NAMES, own=RPL, title=_title(compared), caption=caption
        ),
        out / "table1",
        compared,
    )
    figure = reports.loss_people(
        by_person,
        own=RPL,
        title=_people_title(by_person),
        caption=f"{protocol} Means over {_counted(seeds)}. {source}",
    )
    written += reports.save(figure, out / "people", by_person)
    figure = reports.loss_spread(
        spread,
        title=_spread_title(tables.separated(spreads)),
        caption="Clips of people held out, to the Riemannian means of the others' classes: "
        f"medians, half and 90 % of the distances. First seed. {source}",
    )
    written += reports.save(figure, out / "figure2_distances", spread)
    found = {"figures": compared, "people": by_person, "settings": tables.settings(choices)}
    for name, value, unit, stem in (
        ("batch_size", "batch size", "matrices", "figure3_batch_size"),
        ("weight", "weight of the negatives", "λ", "figure4_weight"),
    ):
        table = tables.averaged(ablations[name], ("value",), tuple(tables.NAMES))
        figure = reports.loss_sweep(
            table,
            value=value,
            unit=unit,
            logarithmic=True,
            title=_range_title(value, table),
            caption=caption,
        )
        written += reports.save(figure, out / stem, table)
        found[name] = table
    table = tables.averaged(ablations["samples"], ("value", "seen"), ("loss", *tables.NAMES))
    figure = reports.loss_curves(
        table,
        value="clips, at most",
        title=_range_title("number of clips that calibrate", _at_the_end(table)),
        caption=caption,
    )
    written += reports.save(figure, out / "figure5_calibration", table)
    found["samples"] = table
    return compared, [*written, write_json(out / "figures.json", found)]


def _at_the_end(table):
    last = max(table["seen"])
    rows = [i for i, seen in enumerate(table["seen"]) if seen == last]
    return {name: [table[name][i] for i in rows] for name in ("value", "recall_at_1")}


def _counted(seeds):
    return "one seed" if seeds == 1 else f"{seeds} seeds, whose standard error is shown"


def _title(table):
    recalls = dict(zip(table["method"], table["recall_at_1"], strict=True))
    losses = [
        name for name, value in recalls.items() if value is not None and name not in REFERENCES
    ]
    best = max(losses, key=recalls.get)
    found = _listed(recalls, (best, RPL, NO_NETWORK))
    return f"Recall@1 on people never seen: {found}"


def _people_title(table):
    values = {}
    for person, value in zip(table["person"], table["value"], strict=True):
        values.setdefault(person, []).append(value)
    means = {person: sum(found) / len(found) for person, found in values.items()}
    hardest = min(means, key=means.get)
    return f"Found least among the others: {_listed(means, (hardest,))} over all losses"


def _spread_title(fractions):
    best = max(fractions, key=fractions.get)
    return f"Own class closer than another, fraction of pairs: {_listed(fractions, (best, RPL))}"


def _range_title(value, table):
    recalls = dict(zip(table["value"], table["recall_at_1"], strict=True))
    best, worst = max(recalls, key=recalls.get), min(recalls, key=recalls.get)
    if recalls[best] == recalls[worst]:
        return f"Recall@1 of RPL is {_percent(recalls[best])} whatever the {value}"
    return (
        f"Recall@1 of RPL by {value}: {_percent(recalls[worst])} at {worst:g}, "
        f"{_percent(recalls[best])} at {best:g}"
    )


def _listed(fractions, names):
    """`RPL 97.0 %, N-pair-mc 96.0 %`, of different names."""
    return ", ".join(f"{name} {_percent(fractions[name])}" for name in dict.fromkeys(names))


def _percent(fraction):
    """With a blank at which no line breaks."""
    return style.percent(fraction).replace(" ", "\u00a0")
