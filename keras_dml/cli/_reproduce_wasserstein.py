"""The Wasserstein loss on sequences against others: recordings, experiment, printed table."""

import dataclasses
import json
import pathlib
import time

from keras_dml.cli import _console, _extras, _page, _wasserstein_data

TITLE = "The Wasserstein loss on quantile embeddings (Abdelwahab and Landwehr 2019): {}"
PAPERS = ("eyes", "gait", "eeg")
TITLES = {
    "eyes": "eye movements",
    "gait": "gait",
    "eeg": "EEG",
    "phone": "walking with a phone",
}
FIGURES = "figures.json"
WRITTEN = {
    "protocol.png": "verification, identification and imposters, beside the paper's",
    "roc_paper.png": "error curves of the paper's verification",
    "roc_pooled.png": "error curves of all recordings of a last block under one threshold",
    "distances.png": "distances within and between people, before and after training",
    "maps.png": "maps of the embeddings",
    "report.html": "all of it on one page, to hand on",
    FIGURES: "all of it, and the settings chosen, for programs",
}
LOW_RATE_HZ = 100  # below, no fast eye movement has several steps


@dataclasses.dataclass(frozen=True)
class _Part:
    """A domain, ready to be compared.

    Attributes:
        domain: A key of `TITLES`.
        data: Its `_wasserstein_data.Found`, without the arrays.
        out: Folder that is written into.
        experiment: `plan.Experiment`.
        lead: What is compared, sentences.
    """

    domain: str
    data: _wasserstein_data.Found
    out: pathlib.Path
    experiment: object
    lead: list

    @property
    def title(self):
        return TITLE.format(TITLES[self.domain])


def show(manual_dir, data_dir, out, domain, scale, *, seeds=None):
    """Runs the comparison and prints its tables.

    Args:
        manual_dir: Folder that holds the archives.
        data_dir: Where prepared data sets are kept; TFDS's own folder when None.
        out: Folder that is written into; of several domains, each has a folder in it.
        domain: A key of `_wasserstein_data.DOMAINS`; None for all of the paper whose archive is
            there.
        scale: A name of `plan.SCALES`.
        seeds: Number of seeds of every network; that of the scale when None.

    Raises:
        ImportError: If TensorFlow Datasets is not installed.
        ValueError: If the archive is missing or wrong, or holds too few people.
        OSError: If the folder cannot be written to.
    """
    start = time.monotonic()
    with _console.stage("read the recordings"):
        found, absent = _read(PAPERS if domain is None else (domain,), manual_dir, data_dir)
    with _console.stage("load the methods"):
        from keras_dml.reproduce.wasserstein import plan

    chosen = plan.SCALES[scale]
    if seeds is not None:
        chosen = dataclasses.replace(chosen, seeds=seeds)
    places = {one: out if domain else out / one for one in found}
    parts = [_planned(one, found.pop(one), place, chosen, scale) for one, place in places.items()]
    missing = [f"Not here: {TITLES[one]}. {said}" for one, said in absent.items()]
    for said in missing:
        _console.echo(f"\n{_console.plain_lines(said)}")
    lead, sections = [], []
    for part in parts:
        said, own = _compared(part, chosen, scale)
        named = "" if domain else f"{TITLES[part.domain]}: "
        lead += [f"{named}{sentence}" for sentence in said]
        sections += [one._replace(title=f"{named}{one.title}") for one in own]
    written = dict(WRITTEN) if domain else _gathered(out, places)
    page = _page.write(
        out,
        TITLE.format(", ".join(TITLES[part.domain] for part in parts)),
        [*_page.meaning(scale), *lead, *missing],
        sections,
        written,
        "keras-dml reproduce wasserstein --manual-dir DIR "
        + (f"--domain {domain} " if domain else "")
        + f"--scale {scale} --seeds {chosen.seeds}",
        start,
        seeds=", ".join(map(str, range(chosen.seeds))),
        training=_training(chosen),
    )
    files = [out / name for name in written if "/" not in name]
    _console.written([*files, page], WRITTEN, time.monotonic() - start)
    folders = "" if domain else f"In {', '.join(f'{one}/' for one in places)}, the pictures. "
    _console.echo(
        f"[dim]{folders}Beside each .png: the same as .svg, and the numbers as .csv. The networks "
        "lie in runs/, as .keras files.[/dim]"
    )


def _read(domains, manual_dir, data_dir):
    """Reads the domains whose archive is there.

    Returns:
        `_wasserstein_data.Found` by domain, and what is said of each domain without an archive.

    Raises:
        ValueError: Where no domain has an archive, with what each lacks.
    """
    _extras.require_data("An archive of recordings")
    from tfds_builders.common.errors import MissingArchiveError

    found, absent = {}, {}
    for domain in domains:
        try:
            found[domain] = _wasserstein_data.read(domain, manual_dir, data_dir)
        except MissingArchiveError as error:
            absent[domain] = str(error)
    if not found:
        raise ValueError(" ".join(absent.values()))
    return found, absent


def _planned(domain, data, out, chosen, scale):
    """A domain's people, divided; nothing is trained yet."""
    from keras_dml.reproduce.wasserstein import plan, recordings
    from keras_dml.training import Runs

    if scale == "paper":
        chosen = dataclasses.replace(chosen, people=data.people)
    everything = recordings.recordings_of(**data.arrays)
    division = recordings.divide(everything, chosen.people)
    experiment = plan.Experiment(division, Runs(out / "runs"), chosen)
    lead = _lead(data, everything, division, experiment.names)
    return _Part(domain, dataclasses.replace(data, arrays={}), out, experiment, lead)


def _compared(part, chosen, scale):
    """Trains and tests the methods on a domain, prints its tables and draws its pictures.

    Returns:
        Sentences and sections of the page.
    """
    from keras_dml.cli import _wasserstein_sections
    from keras_dml.reproduce.wasserstein import plots

    _introduce(part.title, [*part.lead, *_page.meaning(scale)], scale)
    experiment, data = part.experiment, part.data
    choices = experiment.choose()
    results = experiment.compare(choices)
    diverged = experiment.diverge(choices)
    with _console.stage(f"draw into {part.out}"):
        tables, _ = plots.write(
            part.out,
            part.domain,
            experiment.division,
            choices,
            results,
            diverged,
            source=f"{data.source} This is {data.relation}.",
        )
    sections = _wasserstein_sections.all_of(tables, data.relation, chosen.seeds)
    for section in sections:
        _console.section(section, gap=1)
    claim = plots.claim(tables["divergences"])
    _console.echo(f"\n{claim}")
    return [*part.lead, claim], sections


def _gathered(out, places):
    """Writes one file of the figures of several domains.

    Returns:
        Description of each file by its name in `out`.
    """
    from keras_dml.training import write_json

    figures = {
        domain: json.loads((place / FIGURES).read_text(encoding="utf-8"))
        for domain, place in places.items()
    }
    write_json(out / FIGURES, figures)
    pictures = {
        f"{domain}/{name}": f"{TITLES[domain]}: {text}"
        for domain in places
        for name, text in WRITTEN.items()
        if name.endswith(".png")
    }
    return {**pictures, **{name: WRITTEN[name] for name in (_page.NAME, FIGURES)}}


def _lead(data, everything, division, names):
    from keras_dml.reproduce.wasserstein.methods import GAZE_ALONE, JAEGER

    counts = ", ".join(
        f"{len(part.names)} {what}"
        for what, part in zip(
            ("to train", "to choose settings on", "to test"),
            (division.train, division.validation, division.test),
            strict=True,
        )
    )
    said = [
        f"{data.source} This is {data.relation}.",
        f"{len(everything):,} recordings of {len(everything.names)} people; of them {counts}.",
    ]
    if JAEGER in names:
        rate = everything.rate_hz
        low = (
            " At this rate no small eye movement is seen, for which the network was made."
            if rate < LOW_RATE_HZ
            else ""
        )
        said.append(
            f"{JAEGER} takes velocities at {rate:g} Hz, in degrees per millisecond, with the "
            f"published factor of 20 and threshold of 0.04, made for 1,000 Hz.{low}"
        )
    if GAZE_ALONE in names:
        said.append(f"{GAZE_ALONE}: the mean position of both eyes, which {JAEGER} has too.")
    return said


def _introduce(title, lead, scale):
    _console.echo(f"\n[bold]{title}[/bold], scale {scale}\n{_console.plain_lines(lead[1])}")
    for said in (lead[0], *lead[2:]):
        _console.echo(f"[dim]{_console.plain_lines(said)}[/dim]")


def _training(chosen):
    rate = "constant" if chosen.schedule == "constant" else "with a warm-up and a cosine decay"
    length = "whole recordings" if chosen.length is None else f"crops of {chosen.length} steps"
    return (
        f"{chosen.steps:,} steps of Adam, {rate}, {chosen.pairs} pairs of {length}; encoder "
        f"{chosen.size!r}"
    )
