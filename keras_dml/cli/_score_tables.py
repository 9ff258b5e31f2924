"""Computes thresholds from the scores or embeddings of any recognition system, for the command
`keras-dml thresholds FILE`."""

import dataclasses
import enum
import math
import pathlib
from typing import Annotated

import typer

from keras_dml.cli import _completion

SUFFIXES = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".npz")
GALLERY_SUFFIXES = ("", ".db", ".sqlite", ".sqlite3")
SQLITE = b"SQLite format 3\0"  # first bytes of a gallery
NAMES = {  # how the command spells arguments of Python in messages
    "check": "--check",
    "embedding": "--embedding",
    "embeddings": "FILE",
    "far": "--far",
    "group": "--group",
    "groups": "--group",
    "higher_is_closer": "--higher-is-closer",
    "person": "--person",
    "person_a": "--person-a",
    "person_b": "--person-b",
    "score": "--score",
    "scores": "The table",
}
GROUP = "group"
PANEL = "Options for FILE"  # heading on the help page


class DistanceName(enum.StrEnum):
    """Distances and similarities of embeddings."""

    cosine = "cosine"
    cosine_similarity = "cosine-similarity"
    euclidean = "euclidean"
    squared_euclidean = "squared-euclidean"
    manhattan = "manhattan"


METRICS = {  # names in `scipy.spatial.distance.pdist`
    DistanceName.cosine: "cosine",
    DistanceName.cosine_similarity: "cosine",
    DistanceName.euclidean: "euclidean",
    DistanceName.squared_euclidean: "sqeuclidean",
    DistanceName.manhattan: "cityblock",
}


def _column(option, help, default):
    return typer.Option(
        option, metavar="COLUMN", help=help, show_default=default, rich_help_panel=PANEL
    )


def _number(option, example):
    """Returns a parser of a number that names an example in its error."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise typer.BadParameter(f"{option} is {text!r}. Expected {example}.")
        return value

    return parse


Fars = Annotated[
    list[float] | None,
    typer.Option(
        "--far",
        parser=_number("--far", "a fraction above 0 and below 1, such as 0.01 for 1 %"),
        rich_help_panel=PANEL,
        metavar="RATE",
        help="False accept rate, such as 0.01 for 1 %. May be given several times.",
        show_default="0.1, 0.01 and 0.001",
    ),
]
Check = Annotated[
    list[float] | None,
    typer.Option(
        "--check",
        parser=_number("--check", "a finite number with a decimal point, such as 0.5"),
        rich_help_panel=PANEL,
        metavar="THRESHOLD",
        help="Also print the error rates at this threshold, such as a threshold that was copied "
        "from another data set. May be given several times.",
        show_default=False,
    ),
]
Distance = Annotated[
    DistanceName | None,
    typer.Option(
        "--distance",
        rich_help_panel=PANEL,
        help="FILE contains embeddings: compare all pairs of embeddings by this distance. The "
        "distance cosine is 1 minus the cosine.",
        show_default=False,
    ),
]
HigherIsCloser = Annotated[
    bool,
    typer.Option(
        "--higher-is-closer",
        rich_help_panel=PANEL,
        help="The scores are similarities: larger is closer.",
    ),
]
PersonA = Annotated[
    str | None, _column("--person-a", "Column with the first person of a trial.", "person_a")
]
PersonB = Annotated[
    str | None, _column("--person-b", "Column with the second person of a trial.", "person_b")
]
Score = Annotated[str | None, _column("--score", "Column with the score of a trial.", "score")]
Person = Annotated[
    str | None, _column("--person", "Column with the person of an embedding.", "person")
]
Embedding = Annotated[
    str | None,
    typer.Option(
        "--embedding",
        rich_help_panel=PANEL,
        metavar="COLUMN,...",
        help="Column with the embeddings, or columns with their numbers.",
        show_default="the column of lists, or all columns of numbers",
    ),
]
Group = Annotated[
    str | None,
    _column("--group", "Column with the group of a trial or of a person, if any.", "group"),
]
Report = Annotated[
    pathlib.Path | None,
    typer.Option(
        "--report",
        rich_help_panel=PANEL,
        metavar="FILE.html",
        help="Also write a page with tables and plots.",
        show_default=False,
        autocompletion=_completion.complete_paths,
    ),
]


@dataclasses.dataclass(frozen=True)
class ScoreOptions:
    """Options of `keras-dml thresholds` for scores and embeddings.

    Attributes:
        far: Wanted false accept rates. If None, the rates are 10, 1 and 0.1 %.
        check: Thresholds whose error rates are printed.
        distance: Distance of embeddings. If None, the file is a table of trials.
        higher_is_closer: Whether the scores are similarities.
        person_a, person_b, score: Columns of a table of trials.
        person, embedding: Columns of a file of embeddings.
        group: Column with groups. If None, the column `group` is used if it exists.
        report: Path of a page to write.
    """

    far: Fars = None
    check: Check = None
    distance: Distance = None
    higher_is_closer: HigherIsCloser = False
    person_a: PersonA = None
    person_b: PersonB = None
    score: Score = None
    person: Person = None
    embedding: Embedding = None
    group: Group = None
    report: Report = None

    def changed(self) -> list[str]:
        """Returns the names of the options that differ from their defaults, such as `--far`."""
        return [
            f"--{field.name.replace('_', '-')}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) not in (field.default, [])
        ]


def is_score_file(source: str) -> bool:
    """Returns whether the argument of `keras-dml thresholds` is a file of scores or embeddings. All
    other files, and URLs, are galleries."""
    path = pathlib.Path(source)
    if "://" in source:
        return False
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(SQLITE)) == SQLITE:
                return False
        return path.suffix.lower() not in GALLERY_SUFFIXES
    return path.suffix.lower() in SUFFIXES


def print_report(path: str, options: ScoreOptions, *, as_json: bool) -> None:
    """Computes the thresholds of a file, and prints them.

    Args:
        path: Path of a table of trials or of a file of embeddings.
        options: Options of the command.
        as_json: Whether to print one JSON object.
    """
    from keras_dml.cli import _answers, _console

    _check_options(options)
    with _answers.spell_messages(NAMES):
        if options.report is not None:
            _check_report(options.report)
        from keras_dml import evaluation
        from keras_dml.recordings import read_columns

        with _console.stage(f"read {path}"):
            columns = read_columns(path)
            read = _trials if options.distance is None else _embeddings
            trials, is_similarity, notes = read(columns, options)
        notes = [*columns.notes, *notes]
        if not as_json:
            _print_notes(notes)
        with _console.stage("compute thresholds"):
            rates = {"fars": options.far} if options.far else {}
            report = evaluation.thresholds_of(
                *trials, check=options.check or (), higher_is_closer=is_similarity, **rates
            )
        notes += report.notes
        if options.report is not None:
            _write_page(options.report, path, report, notes)
    if as_json:
        _console.print_json({**report.to_dict(), "notes": notes})
        return
    _print_notes(report.notes)
    _print(report)
    if options.report is not None:
        _console.echo(f"\nWritten: {_console.escape(options.report)}")


def _print_notes(notes):
    from keras_dml.cli import _console

    for text in notes:
        _console.note(_console.escape(f"Note: {text}"))


def _check_options(options):
    """Checks options before any file is read."""
    for far in options.far or ():
        if not 0 < far < 1:
            raise typer.BadParameter(
                f"--far must be a fraction above 0 and below 1, such as 0.01 for 1 %. Received "
                f"{far:g}."
            )
    for_trials = {"--person-a", "--person-b", "--score"}
    for_embeddings = {"--person", "--embedding"}
    wrong = for_trials if options.distance is not None else for_embeddings
    if wrong := sorted(wrong & {*options.changed()}):
        reason = (
            "is for tables of trials and cannot be combined with --distance"
            if options.distance is not None
            else "is for embeddings and needs --distance"
        )
        raise typer.BadParameter(f"{wrong[0]} {reason}.")
    if options.distance is not None and options.higher_is_closer:
        raise typer.BadParameter(
            "--higher-is-closer is for tables of trials. For embeddings, use --distance "
            "cosine-similarity."
        )


def _check_report(path):
    from keras_dml._files import replaceable_file

    if path.suffix.lower() != ".html":
        raise ValueError(f"--report is {path}, but the name of a page ends in .html.")
    replaceable_file(path)
    from keras_dml import reports

    _ = reports.error_rates_by_threshold  # raises an error if Matplotlib is not installed


def _trials(columns, options):
    """Returns the arguments of `thresholds_of`, whether the scores are similarities, and notes."""
    import numpy as np

    if all(option is None for option in (options.person_a, options.person_b, options.score)):
        _check_is_table_of_trials(columns)
    pairs = [
        columns.people(options.person_a or "person_a", "person_a"),
        columns.people(options.person_b or "person_b", "person_b"),
    ]
    # numbered in sorted order, so that the order of the rows does not matter
    numbers = {
        name: i for i, name in enumerate(sorted({name for names in pairs for name in names}))
    }
    codes = tuple(np.array([numbers[name] for name in names]) for names in pairs)
    scores = columns.numbers(options.score or "score", "score")
    groups = _groups(columns, options)
    return (scores, codes, groups), options.higher_is_closer, _empty_groups(groups, options)


def _check_is_table_of_trials(columns):
    """Raises an error that explains both kinds of files if a file has none of the usual columns of
    trials."""
    if {"person_a", "person_b", "score"} & {name.casefold() for name in columns.names}:
        return
    names = ", ".join(map(repr, columns.names[:12]))
    rest = f" and {len(columns.names) - 12:,} more" if len(columns.names) > 12 else ""
    raise ValueError(
        f"{columns.path} has the columns {names}{rest}. If each row is a trial of two people, name "
        "the columns by --person-a, --person-b and --score. If each row is an embedding, give "
        "--distance, such as --distance cosine, and name the column of people by --person."
    )


def _embeddings(columns, options):
    """Returns the arguments of `thresholds_of`, whether the scores are similarities, and notes."""
    import numpy as np

    from keras_dml import evaluation

    person = options.person or "person"
    people = columns.people(person, "person")
    groups = _groups(columns, options)
    described = [columns.names[columns.index(person, "person")]]
    if groups is not None:
        described.append(columns.names[columns.index(options.group or GROUP, "group")])
    wanted = None if options.embedding is None else options.embedding.split(",")
    vectors, used, left_out = columns.vectors(wanted, described, "embedding")
    span = used[0] if len(used) == 1 else f"{used[0]} to {used[-1]}"
    notes = [f"Embeddings of {vectors.shape[1]:,} numbers were read from {span}."]
    notes += _empty_groups(groups, options)
    if left_out:
        more = f" and {len(left_out) - 5} more" if len(left_out) > 5 else ""
        notes.append(f"These columns were left out: {', '.join(left_out[:5])}{more}.")
    rows = _without_copies(vectors, people, notes)
    vectors, people = vectors[rows], np.array(people)[rows]
    groups = None if groups is None else np.array(groups)[rows]
    metric = METRICS[options.distance]
    trials = evaluation.embedding_trials(vectors, people, groups, metric=metric)
    is_similarity = options.distance == DistanceName.cosine_similarity
    if is_similarity:
        trials = trials._replace(scores=1 - trials.scores)
    return trials, is_similarity, notes


def _without_copies(vectors, people, notes):
    """Returns the rows of different embeddings, and appends a note about repeated embeddings."""
    import numpy as np

    _, first = np.unique(vectors, axis=0, return_index=True)
    if len(first) < len(vectors):
        notes.append(
            f"{len(vectors) - len(first):,} of {len(vectors):,} embeddings repeat another "
            "embedding exactly, and were left out."
        )
    return np.sort(first)


def _groups(columns, options):
    """Returns the groups, or None if the file has no column of groups."""
    is_usual = GROUP in {name.casefold() for name in columns.names}
    if options.group is None and not is_usual:
        return None
    return columns.texts(options.group or GROUP, "group")


def _empty_groups(groups, options):
    """Returns a note if the column of groups has no group."""
    if groups is None or any(groups):
        return []
    return [f"The column {options.group or GROUP!r} is empty, so there are no rates of groups."]


def _print(report):
    from keras_dml.cli import _console

    for line in facts(report):
        _console.echo(_console.escape(line))
    sign = ">=" if report.higher_is_closer else "<="
    if report.thresholds:
        _console.echo(
            f"\n[bold]Thresholds[/bold] (accept if score {sign} threshold, intervals of 95 %)"
        )
        _console.print_table(RATE_COLUMNS, [rate_row(row) for row in report.thresholds])
    if report.unsupported:
        _console.echo("\n[bold]Too few people for these rates[/bold]")
        _console.print_table(
            UNSUPPORTED_COLUMNS, [unsupported_row(row) for row in report.unsupported]
        )
        if not report.thresholds:
            _console.echo(_next_step(report))
    if report.checks:
        _console.echo(f"\n[bold]Checked thresholds[/bold] (accept if score {sign} threshold)")
        _console.print_table(CHECK_COLUMNS, [check_row(row) for row in report.checks])
    for row in (*report.thresholds, *report.checks):
        if row.groups:
            _console.echo(f"\n[bold]Groups at threshold {row.printed}[/bold]")
            _console.print_table(GROUP_COLUMNS, group_rows(row))
            if worst := worst_in_words(row):
                _console.echo(_console.escape(worst))


RATE_COLUMNS = (
    "wanted FAR",
    "threshold",
    "measured FAR",
    "FAR of other people",
    "TAR",
)
CHECK_COLUMNS = ("threshold", "imposter pairs accepted", "genuine pairs rejected")
UNSUPPORTED_COLUMNS = ("wanted FAR", "lowest supported FAR", "people needed")
GROUP_COLUMNS = ("group", "people", "FAR within the group", "TAR within the group")


def facts(report) -> list[str]:
    """Returns lines with the counts, the EER and the Cllr of a `ScoreReport`."""
    from keras_dml import _figures

    lines = [
        report.counts_in_words.replace(" people, ", " people: ", 1),
        f"EER {_percent(report.eer)} [{_figures.interval(report.eer_ci95)}] at threshold "
        f"{report.printed_eer_threshold}",
    ]
    if report.min_cllr is not None:
        measured = (
            "Cllr not measured (too few people or different scores, or no overlap of scores)"
            if report.cllr is None
            else f"Cllr {report.cllr:.2f} (half of the people calibrate the scores of the others)"
        )
        lines.append(f"{measured}, min Cllr {report.min_cllr:.2f}")
    return lines


def rate_row(row) -> tuple[str, ...]:
    """Returns the table row of a threshold for a wanted rate."""
    from keras_dml import _figures

    return (
        f"{100 * row.wanted_far:g} %",
        row.printed,
        _percent(row.far),
        _figures.interval(row.far_ci95),
        _with_interval(row.tar, row.tar_ci95),
    )


def check_row(row) -> tuple[str, ...]:
    """Returns the table row of a threshold that the caller chose."""
    low, high = row.tar_ci95
    return (
        row.printed,
        _with_interval(row.far, row.far_ci95),
        _with_interval(1 - row.tar, (1 - high, 1 - low)),
    )


def unsupported_row(row) -> tuple[str, ...]:
    """Returns the table row of a rate that the people do not support."""
    from keras_dml import _figures

    fewest, most = row.people_needed
    count = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"{100 * row.wanted_far:g} %", _figures.percent_rounded_up(row.strictest), count


def _next_step(report):
    """Returns a sentence that says which rate is supported if no wanted rate is."""
    from keras_dml import _figures

    strictest = max(row.strictest for row in report.unsupported)
    if strictest >= 1:
        return "These people support no rate. Add people."
    percent = _figures.percent_rounded_up(strictest)
    rate = float(percent.removesuffix(" %")) / 100
    return f"Add people, or use the lowest supported rate: --far {rate:.4g} ({percent})."


def group_rows(row) -> list[tuple[str, ...]]:
    """Returns the table rows of the groups at a threshold."""
    return [
        (
            group.group,
            f"{group.people:,}",
            _with_interval(group.far, group.far_ci95),
            _with_interval(group.tar, group.tar_ci95),
        )
        for group in row.groups
    ]


def worst_in_words(row) -> str:
    """Returns a sentence that names the worst groups at a threshold, or an empty text."""
    parts = []
    if row.worst_far is not None:
        parts.append(f"FAR {_percent(row.worst_far.far)} in {row.worst_far.group!r}")
    if row.worst_tar is not None:
        parts.append(f"TAR {_percent(row.worst_tar.tar)} in {row.worst_tar.group!r}")
    rates = f"FAR {_percent(row.far)}, TAR {_percent(row.tar)}"
    return f"Worst groups: {', '.join(parts)}. All people: {rates}." if parts else ""


def _percent(fraction):
    return f"{100 * fraction:.2g} %" if fraction < 0.995 else f"{100 * fraction:.3g} %"


def _with_interval(rate, bounds):
    from keras_dml import _figures

    return "–" if rate is None else f"{_percent(rate)} [{_figures.interval(bounds)}]"


def _write_page(path, source, report, notes):
    """Writes the page of a report with its tables and a plot of the error rates."""
    import tempfile

    from keras_dml import reports

    sign = ">=" if report.higher_is_closer else "<="
    rule = f"Accept a trial if score {sign} threshold."
    sections = []
    if report.thresholds:
        text = (
            f"{rule} The measured false accept rate (FAR) is that of the people in the file. The "
            "95 % interval beside it contains the FAR of another group with the same number of "
            "people. TAR is the true accept rate."
        )
        rows = [rate_row(row) for row in report.thresholds]
        sections.append(reports.Section("Thresholds", text, RATE_COLUMNS, rows))
    if report.unsupported:
        text = (
            "A false accept rate needs enough people, because trials that share a person are not "
            "independent. The upper number of people is always enough. The lower number is enough "
            "if pairs of people are as independent as in this file. The lowest supported FAR is "
            "the lowest rate that this number of people supports."
        )
        rows = [unsupported_row(row) for row in report.unsupported]
        sections.append(reports.Section("Too few people", text, UNSUPPORTED_COLUMNS, rows))
    if report.checks:
        rows = [check_row(row) for row in report.checks]
        sections.append(reports.Section("Checked thresholds", rule, CHECK_COLUMNS, rows))
    for row in (*report.thresholds, *report.checks):
        if row.groups:
            title = f"Groups at threshold {row.printed}"
            text = "Each row counts only trials within one group, as in ISO/IEC 19795-10."
            rows = group_rows(row)
            sections.append(reports.Section(title, text, GROUP_COLUMNS, rows, worst_in_words(row)))
    with tempfile.TemporaryDirectory() as folder:
        figure = reports.error_rates_by_threshold(report)
        paths = reports.save(figure, pathlib.Path(folder) / "rates")
        caption = "Scores of genuine and imposter trials, and error rates at each threshold."
        reports.write_page(
            path,
            f"Thresholds for {pathlib.Path(source).name}",
            lead=[*facts(report), *notes],
            sections=sections,
            pictures=[reports.Picture(paths[1], caption)],
            facts={"file": str(source)},
        )
