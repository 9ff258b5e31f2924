"""Runs the comparison of Abdelwahab2019 on recordings from archives."""

import dataclasses
import json
import pathlib
from typing import Any

from keras_dml._typing import Path
from zoo.papers import pages
from zoo.papers.records import require_packages
from zoo.papers.settings import command_options
from zoo.papers.wasserstein import data_sets
from zoo.papers.wasserstein.settings import (
    CONSTANT,
    DOMAINS,
    PAPER_DOMAINS,
    SCALES,
    Settings,
)

TITLE = "The Wasserstein loss on quantile embeddings (Abdelwahab and Landwehr 2019): {}"
LOW_RATE_HZ = 100  # at lower rates a fast eye movement has too few steps


@dataclasses.dataclass(frozen=True)
class _DomainExperiment:
    """Experiment on a domain whose people are already divided. No network is trained yet.

    Attributes:
        domain: A key of `DOMAINS`.
        data: `data_sets.DomainData` of the domain. Its arrays have been removed.
        out: Folder of the results.
        experiment: `experiment.Experiment`.
        lead: Sentences about the data and the methods.
    """

    domain: str
    data: data_sets.DomainData
    out: pathlib.Path
    experiment: Any
    lead: list[str]


def run(
    manual_dir: Path,
    out: Path,
    settings: Settings = SCALES["full"],
    *,
    domain: str | None = None,
    data_dir: Path | None = None,
) -> dict[str, Any]:
    """Compares QP-WL with other methods, and writes tables, pictures and `report.html`.

    The tables are printed on stdout and the progress on stderr. A run that was stopped continues if
    it is started with the same `out`.

    Args:
        manual_dir: Folder that holds the archives.
        out: Folder of the results. If there are several domains, each domain has a subfolder.
        settings: `Settings`. For example, `dataclasses.replace(SCALES["full"], knots=8)` changes
            one setting of a scale.
        domain: A key of `DOMAINS`. Default: all domains of the paper whose archives are found.
        data_dir: Folder of prepared data sets. None: the folder of TensorFlow Datasets.

    Returns:
        Content of `figures.json`. For one domain, it is a dictionary from names to tables. For
        several domains, it contains one such dictionary per domain.

    Raises:
        ImportError: If TensorFlow Datasets is not installed.
        ValueError: If an archive is missing or wrong, if it contains too few people, or if it does
            not contain the data that a method in the settings needs.
        OSError: If the folder cannot be written to.
    """
    out = pathlib.Path(out)
    with pages.output_folder(out):
        return _run(manual_dir, out, settings, domain, data_dir)


def _run(manual_dir, out, settings, domain, data_dir):
    clock = pages.Clock()
    scale, options = command_options(settings, SCALES)
    with pages.stage("read the recordings"):
        data, absent = _read(PAPER_DOMAINS if domain is None else (domain,), manual_dir, data_dir)
    folders = {name: out if domain else out / name for name in data}
    experiments = [
        _prepare(name, data.pop(name), folder, settings) for name, folder in folders.items()
    ]
    missing = [
        f"There are no results for {DOMAINS[name]}. {error}" for name, error in absent.items()
    ]
    for sentence in missing:
        pages.echo(f"\n{sentence}")
    lead, sections = [], []
    for experiment in experiments:
        prefix = "" if domain else f"{DOMAINS[experiment.domain]}: "
        sentences, tables = _compare(experiment, settings, scale)
        lead += [f"{prefix}{sentence}" for sentence in sentences]
        sections += [section._replace(title=f"{prefix}{section.title}") for section in tables]
    from zoo.papers.wasserstein.report import FIGURES, FILES

    descriptions = dict(FILES) if domain else _write_joint_figures(out, folders)
    option = f"--domain {domain} " if domain else ""
    page = pages.write_report(
        out,
        TITLE.format(", ".join(DOMAINS[experiment.domain] for experiment in experiments)),
        [*pages.warnings_of(scale), *lead, *missing],
        sections,
        descriptions,
        f"python -m zoo.papers wasserstein --manual-dir DIR {option}{options}",
        clock,
        seeds=", ".join(map(str, range(settings.seeds))),
        training=_training_sentence(settings),
    )
    paths = [out / name for name in descriptions if "/" not in name]
    pages.print_files([*paths, page], FILES, clock)
    where = "" if domain else f"The pictures are in {', '.join(f'{name}/' for name in folders)}. "
    pages.echo(
        f"{where}Each picture is written as a .png and a .svg file, and its numbers as a .csv "
        "file. The networks are stored as .keras files in runs/.",
        "dim",
    )
    return json.loads((out / FIGURES).read_text(encoding="utf-8"))


def _read(domains, manual_dir, data_dir):
    """Reads the data of all domains whose archives are found.

    Returns:
        Dictionary from domains to `data_sets.DomainData`, and a dictionary from domains without an
        archive to error messages.

    Raises:
        ValueError: If no archive is found for any domain. The error message names the archives.
    """
    require_packages()
    from tfds_builders.common.errors import MissingArchiveError

    data, absent = {}, {}
    for domain in domains:
        try:
            data[domain] = data_sets.read(domain, manual_dir, data_dir)
        except MissingArchiveError as error:
            absent[domain] = str(error)
    if not data:
        raise ValueError(" ".join(absent.values()))
    return data, absent


def _prepare(domain, data, out, settings):
    """Divides the people of a domain and prepares the experiment. No network is trained yet."""
    from zoo.papers.runs import TimedRuns
    from zoo.papers.wasserstein import recordings
    from zoo.papers.wasserstein.experiment import Experiment

    if settings.limit_to_paper and settings.people is None:
        settings = dataclasses.replace(settings, people=data.people)
    all_recordings = recordings.make_recordings(**data.arrays)
    division = recordings.divide(all_recordings, settings.people)
    experiment = Experiment(division, TimedRuns(out / "runs"), settings)
    lead = _lead(data, all_recordings, division, experiment.names)
    return _DomainExperiment(domain, dataclasses.replace(data, arrays={}), out, experiment, lead)


def _compare(prepared, settings, scale):
    """Trains and tests the methods on a domain, prints its tables and writes its files.

    Returns:
        The sentences and the sections for the page.
    """
    from zoo.papers.wasserstein import report

    pages.echo(f"\n{TITLE.format(DOMAINS[prepared.domain])}", "bold")
    for sentence in (*prepared.lead, *pages.warnings_of(scale)):
        pages.echo(sentence)
    experiment, data = prepared.experiment, prepared.data
    choices = experiment.choose()
    results = experiment.compare(choices)
    divergence_results = experiment.compare_divergences(choices)
    with pages.stage(f"draw into {prepared.out}"):
        tables, _ = report.write(
            prepared.out,
            prepared.domain,
            experiment.division,
            choices,
            results,
            divergence_results,
            source=f"{data.source} These are {data.relation}.",
        )
    sections = report.sections(tables, data.relation, settings.seeds)
    for section in sections:
        pages.print_section(section)
    sentence = report.divergence_sentence(tables["divergences"])
    pages.echo(f"\n{sentence}")
    return [*prepared.lead, sentence], sections


def _write_joint_figures(out, folders):
    """Writes a file that contains the figures of several domains.

    Returns:
        Dictionary from names of files in `out` to descriptions.
    """
    from keras_dml.training import write_json
    from zoo.papers.wasserstein.report import FIGURES, FILES

    figures = {
        domain: json.loads((folder / FIGURES).read_text(encoding="utf-8"))
        for domain, folder in folders.items()
    }
    write_json(out / FIGURES, figures)
    pictures = {
        f"{domain}/{name}": f"{DOMAINS[domain]}: {text}"
        for domain in folders
        for name, text in FILES.items()
        if name.endswith(".png")
    }
    return {**pictures, **{name: FILES[name] for name in (pages.NAME, FIGURES)}}


def _lead(data, recordings, division, names):
    from zoo.papers.wasserstein.methods import GAZE_ALONE, JAEGER

    counts = ", ".join(
        f"{len(part.names)} {purpose}"
        for purpose, part in zip(
            ("people to train", "to choose settings", "to test"),
            (division.train, division.validation, division.test),
            strict=True,
        )
    )
    sentences = [
        f"{data.source} These are {data.relation}.",
        f"The data contain {len(recordings):,} recordings of {len(recordings.names)} people. The "
        f"experiment uses {counts}.",
    ]
    if JAEGER in names:
        rate = recordings.rate_hz
        low = (
            " At this rate the recordings do not contain the small eye movements for which the "
            "network was made."
            if rate < LOW_RATE_HZ
            else ""
        )
        sentences.append(
            f"The network of {JAEGER} takes velocities at {rate:g} Hz, in degrees per millisecond. "
            "It uses the published factor of 20 and the published threshold of 0.04, which were "
            f"made for 1,000 Hz.{low}"
        )
    if GAZE_ALONE in names:
        sentences.append(
            f'"{GAZE_ALONE}" takes the mean position of both eyes, as the network of {JAEGER} does.'
        )
    return sentences


def _training_sentence(settings):
    schedule = "constant" if settings.schedule == CONSTANT else "with a warm-up and a cosine decay"
    length = "whole recordings" if settings.length is None else f"crops of {settings.length} steps"
    return (
        f"{settings.steps:,} steps of Adam, learning rate {schedule}, {settings.pairs} pairs of "
        f"{length}; encoder {settings.size!r} with {settings.knots} knots"
    )
