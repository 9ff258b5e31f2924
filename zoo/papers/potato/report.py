"""Creates the pictures and tables of the comparison, which are written to files, to stdout and to
the page.
"""

import pathlib
from collections.abc import Mapping, Sequence

from keras_dml import reports
from keras_dml.reports import Section, style
from keras_dml.training import write_json
from zoo.papers.potato import tables
from zoo.papers.potato.experiment import NO_NETWORK, REFERENCES, Choices
from zoo.papers.potato.methods import RPL
from zoo.papers.potato.tables import Rows, Table

FIGURES = "figures.json"
FILES = {
    "table1.png": "the table above and Table I of the paper",
    "people.png": "Recall@1 of every actor",
    "figure2_distances.png": "distances to the center of a clip's class and to other centers",
    "figure3_batch_size.png": "figures of RPL with several batch sizes",
    "figure4_weight.png": "figures of RPL with several weights of the negatives",
    "figure5_calibration.png": "figures of RPL with several numbers of clips for the calibration",
    "report.html": "all tables and pictures on one page",
    FIGURES: "all figures and the chosen settings as JSON",
}


def write(
    out: pathlib.Path,
    choices: Choices,
    rows: Rows,
    spreads: Rows,
    ablations: Mapping[str, Rows],
    *,
    seeds: int,
    source: str,
) -> tuple[Table, list[pathlib.Path]]:
    """Writes Table I, Figures 2 to 5 and `figures.json`.

    Args:
        out: Folder.
        choices: Output of `Experiment.choose`.
        rows, spreads: Output of `Experiment.compare`.
        ablations: Output of `Experiment.ablate`.
        seeds: Number of seeds with which each network was trained.
        source: Sentence that names the data and their license.

    Returns:
        The table of the comparison, and the paths of the files.
    """
    comparison, by_person = tables.comparison(rows), tables.people(rows)
    spread = tables.spread(spreads)
    people = ", ".join(dict.fromkeys(by_person["person"]))
    protocol = (
        f"Each of the people {people} is held out in turn, from the training and from the gallery. "
        "Every loss trains the same SPD network, with the settings of its grid that were best on "
        "another person."
    )
    seed_text = _seed_text(seeds)
    caption = f"{protocol} The figures are means over people and over {seed_text}. {source}"
    figure = reports.loss_comparison(
        comparison,
        figures=tables.NAMES,
        own=RPL,
        title=_comparison_title(comparison),
        caption=caption,
    )
    paths = list(reports.save(figure, out / "table1", comparison))
    figure = reports.loss_people(
        by_person,
        own=RPL,
        title=_people_title(by_person),
        caption=f"{protocol} The figures are means over {seed_text}. {source}",
    )
    paths += reports.save(figure, out / "people", by_person)
    figure = reports.loss_spread(
        spread,
        title=_spread_title(tables.separated(spreads)),
        caption="Distances from the clips of a person who is held out to the centers of the "
        "classes, which are Riemannian means of the other people's clips. The picture shows the "
        "median and the ranges that contain half and 90 % of the distances, for the first seed. "
        f"{source}",
    )
    paths += reports.save(figure, out / "figure2_distances", spread)
    content = {"figures": comparison, "people": by_person, "settings": tables.settings(choices)}
    for name, value, unit, stem in (
        ("batch_size", "batch size", "matrices", "figure3_batch_size"),
        ("weight", "weight of the negatives", "λ", "figure4_weight"),
    ):
        table = tables.average(ablations[name], ("value",), tuple(tables.NAMES))
        figure = reports.loss_sweep(
            table,
            value=value,
            unit=unit,
            logarithmic=True,
            title=_range_title(value, table),
            caption=caption,
        )
        paths += reports.save(figure, out / stem, table)
        content[name] = table
    table = tables.average(ablations["samples"], ("value", "seen"), ("loss", *tables.NAMES))
    figure = reports.loss_curves(
        table,
        value="clips, at most",
        title=_range_title("number of clips that calibrate", _last_stop(table)),
        caption=caption,
    )
    paths += reports.save(figure, out / "figure5_calibration", table)
    content["samples"] = table
    return comparison, [*paths, write_json(out / FIGURES, content)]


def section(table: Table, people: Sequence[str], seeds: int) -> Section:
    """Returns the section of the page that contains Table I.

    Args:
        table: Output of `tables.comparison`.
        people: People who were held out.
        seeds: Number of seeds with which each network was trained.
    """
    text = (
        "The table contains figures in %. They are means over the actors "
        f"{', '.join(people)}, who are held out in turn, and over "
        + ("one seed. " if seeds == 1 else f"{seeds} seeds, ± the standard error over seeds. ")
        + "Table I of the paper uses random halves of the 130 motions in HDM05."
    )
    names = tables.NAMES
    papers = [name for name in names if any(x is not None for x in table[f"{name}_paper"])]
    rows = []
    for i, method in enumerate(table["method"]):
        cells = [_with_error(table[name][i], table[f"{name}_stderr"][i]) for name in names]
        paper_cells = [_with_error(table[f"{name}_paper"][i]) for name in papers]
        rows.append((method, *cells, *paper_cells))
    note = (
        '"No network" compares the covariance matrices by the log-Euclidean distance. "Untrained" '
        "is the network with random weights. NRA was not run, because its paper gives no formula "
        "that could be implemented."
    )
    return Section(
        "Actors who were not used in training",
        text,
        ("loss", *names.values(), *(names[name] for name in papers)),
        rows,
        note,
        groups=(
            ("", 1),
            ("here", len(names)),
            *([("the paper's Table I", len(papers))] if papers else []),
        ),
    )


def _last_stop(table):
    last = max(table["seen"])
    rows = [i for i, seen in enumerate(table["seen"]) if seen == last]
    return {name: [table[name][i] for i in rows] for name in ("value", "recall_at_1")}


def _seed_text(seeds):
    return "one seed" if seeds == 1 else f"{seeds} seeds. Bars show the standard error over seeds"


def _comparison_title(table):
    recalls = dict(zip(table["method"], table["recall_at_1"], strict=True))
    losses = [
        name for name, value in recalls.items() if value is not None and name not in REFERENCES
    ]
    best = max(losses, key=recalls.get)
    texts = _list_percents(recalls, (best, RPL, NO_NETWORK))
    return f"Recall@1 on people who were not used in training: {texts}"


def _people_title(table):
    values_by_person = {}
    for person, value in zip(table["person"], table["value"], strict=True):
        values_by_person.setdefault(person, []).append(value)
    means = {person: sum(values) / len(values) for person, values in values_by_person.items()}
    hardest = min(means, key=means.get)
    return f"Lowest Recall@1 of an actor, averaged over losses: {_list_percents(means, (hardest,))}"


def _spread_title(fractions):
    best = max(fractions, key=fractions.get)
    texts = _list_percents(fractions, (best, RPL))
    return f"Pairs of centers in which the center of the clip's class is closer: {texts}"


def _range_title(value, table):
    recalls = dict(zip(table["value"], table["recall_at_1"], strict=True))
    best, worst = max(recalls, key=recalls.get), min(recalls, key=recalls.get)
    if recalls[best] == recalls[worst]:
        return f"Recall@1 of RPL is {_percent(recalls[best])} for every {value}"
    return (
        f"Recall@1 of RPL by {value}: {_percent(recalls[worst])} at {worst:g}, "
        f"{_percent(recalls[best])} at {best:g}"
    )


def _list_percents(fractions, names):
    """Formats names with their fractions, such as `RPL 97.0 %, N-pair-mc 96.0 %`. If a name occurs
    several times, it is written once.
    """
    return ", ".join(f"{name} {_percent(fractions[name])}" for name in dict.fromkeys(names))


def _percent(fraction):
    """Formats a fraction in percent, with a non-breaking space."""
    return style.percent(fraction).replace(" ", "\u00a0")


def _with_error(value, error=None):
    if value is None:
        return "–"
    return f"{100 * value:.1f}" if error is None else f"{100 * value:.1f} ± {100 * error:.1f}"
