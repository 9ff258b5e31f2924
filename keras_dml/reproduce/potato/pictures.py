"""The experiment's pictures with their tables, and one file of all figures."""

import json
import os

from keras_dml import reports
from keras_dml.reproduce.potato import tables
from keras_dml.reproduce.potato.methods import RPL
from keras_dml.reproduce.potato.plan import NO_NETWORK, REFERENCES


def write(out, choices, rows, spreads, ablations, *, seeds, ablation_seeds, source):
    """Writes Table I, Figures 2 to 5 and `figures.json`.

    Args:
        out: Folder, a `pathlib.Path`.
        choices, rows, spreads, ablations: Of `Experiment`.
        seeds: Number of seeds that losses are compared by.
        ablation_seeds: Number of those in the ablations.
        source: Data and licence, a sentence.

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
    varied = f"{protocol} Means over people, then over {_counted(ablation_seeds)}. {source}"
    written = reports.save(
        reports.loss_comparison(
            compared, figures=tables.NAMES, own=RPL, title=_title(compared), caption=caption
        ),
        out / "table1",
        compared,
    )
    written += reports.save(
        reports.loss_people(by_person, own=RPL, title=_people_title(by_person), caption=caption),
        out / "people",
        by_person,
    )
    written += reports.save(
        reports.loss_spread(
            spread,
            title=_spread_title(tables.separated(spreads)),
            caption="Clips of people held out, to the Riemannian means of the others' classes: "
            f"medians, half and 90 % of the distances. First seed. {source}",
        ),
        out / "figure2_distances",
        spread,
    )
    changed = {"figures": compared, "people": by_person, "settings": tables.settings(choices)}
    axes = {
        "batch_size": ("batch size", "matrices", False, "figure3_batch_size"),
        "weight": ("weight of the negatives λ", "", True, "figure4_weight"),
    }
    for name, (value, unit, logarithmic, stem) in axes.items():
        table = tables.averaged(ablations[name], ("value",), tuple(tables.NAMES))
        picture = reports.loss_sweep(
            table,
            value=value,
            unit=unit,
            logarithmic=logarithmic,
            title=_range_title(value, table),
            caption=varied,
        )
        written += reports.save(picture, out / stem, table)
        changed[name] = table
    table = tables.averaged(ablations["samples"], ("value", "seen"), ("loss", *tables.NAMES))
    last = max(table["seen"])
    at_the_end = {name: _where(table, name, last) for name in ("value", "recall_at_1")}
    value = "clips of a class that calibrate its potato, N_I at most"
    picture = reports.loss_curves(
        table, value="N_I at most", title=_range_title(value, at_the_end), caption=varied
    )
    written += reports.save(picture, out / "figure5_calibration", table)
    changed["samples"] = table
    return compared, [*written, _write_json(out / "figures.json", changed)]


def _where(table, name, seen):
    return [x for x, at in zip(table[name], table["seen"], strict=True) if at == seen]


def _counted(seeds):
    return "one seed" if seeds == 1 else f"{seeds} seeds, whose standard error is shown"


def _title(table):
    recalls = dict(zip(table["method"], table["recall_at_1"], strict=True))
    losses = {
        name: value
        for name, value in recalls.items()
        if value is not None and name not in REFERENCES
    }
    best = max(losses, key=losses.get)
    told = [
        f"{name} {100 * recalls[name]:.1f} %"
        for name in dict.fromkeys((best, RPL, NO_NETWORK))
        if name in recalls
    ]
    return f"Recall@1 on people never seen: {', '.join(told)}"


def _people_title(table):
    values = {}
    for person, value in zip(table["person"], table["value"], strict=True):
        values.setdefault(person, []).append(value)
    means = {person: sum(found) / len(found) for person, found in values.items()}
    hardest = min(means, key=means.get)
    return f"{hardest} is the hardest to find among the others: {100 * means[hardest]:.1f} %"


def _spread_title(shares):
    order = sorted(shares, key=shares.get, reverse=True)
    told = [
        f"{name} {100 * shares[name]:.1f} %"
        for name in dict.fromkeys((order[0], RPL))
        if name in shares
    ]
    return f"Own class nearer than another: {', '.join(told)} of pairs"


def _range_title(value, table):
    recalls = dict(zip(table["value"], table["recall_at_1"], strict=True))
    best, worst = max(recalls, key=recalls.get), min(recalls, key=recalls.get)
    return (
        f"Recall@1 of RPL lies between {100 * recalls[worst]:.1f} % ({worst:g}) and "
        f"{100 * recalls[best]:.1f} % ({best:g}): {value}"
    )


def _write_json(path, content):
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)
    return path
