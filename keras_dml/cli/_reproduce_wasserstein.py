"""The Wasserstein loss on sequences against others: recordings, experiment, printed table."""

import dataclasses
import time

from keras_dml.cli import _console, _page, _wasserstein_data

TITLE = "The Wasserstein loss on quantile embeddings (Abdelwahab and Landwehr 2019): {}"
TITLES = {
    "eyes": "eye movements",
    "gait": "gait",
    "eeg": "EEG",
    "phone": "walking with a phone",
}
WRITTEN = {
    "protocol.png": "verification, identification and imposters, beside the paper's",
    "roc_paper.png": "error curves of the paper's verification",
    "roc_pooled.png": "error curves of all recordings of a last block under one threshold",
    "distances.png": "distances within and between people, before and after training",
    "maps.png": "maps of the embeddings",
    "report.html": "all of it on one page, to hand on",
    "figures.json": "all of it, and the settings chosen, for programs",
}
LOW_RATE_HZ = 100  # below, no fast eye movement has several steps


def show(manual_dir, data_dir, out, domain, scale, *, seeds=None):
    """Runs the comparison and prints its tables.

    Args:
        manual_dir: Folder that holds the archives.
        data_dir: Where prepared data sets are kept; TFDS's own folder when None.
        out: Folder that is written into.
        domain: A key of `_wasserstein_data.DOMAINS`.
        scale: A name of `plan.SCALES`.
        seeds: Number of seeds of every network; that of the scale when None.

    Raises:
        ImportError: If TensorFlow Datasets is not installed.
        ValueError: If the archive is missing or wrong, or holds too few people.
        OSError: If the folder cannot be written to.
    """
    start = time.monotonic()
    with _console.stage("read the recordings"):
        data = _wasserstein_data.read(domain, manual_dir, data_dir)
    with _console.stage("load the methods"):
        from keras_dml.cli import _wasserstein_sections
        from keras_dml.reproduce.wasserstein import plan, plots, recordings
        from keras_dml.training import Runs

    chosen = plan.SCALES[scale]
    if scale == "paper":
        chosen = dataclasses.replace(chosen, people=data.people)
    if seeds is not None:
        chosen = dataclasses.replace(chosen, seeds=seeds)
    everything = recordings.recordings_of(**data.arrays)
    division = recordings.divide(everything, chosen.people)
    experiment = plan.Experiment(division, Runs(out / "runs"), chosen)
    lead = _lead(data, everything, division, experiment.names, scale)
    title = TITLE.format(TITLES[domain])
    _introduce(title, lead, scale)
    choices = experiment.choose()
    results = experiment.compare(choices)
    diverged = experiment.diverge(choices)
    with _console.stage(f"draw into {out}"):
        tables, written = plots.write(
            out,
            domain,
            division,
            choices,
            results,
            diverged,
            source=f"{data.source} This is {data.relation}.",
        )
        sections = _wasserstein_sections.all_of(tables, data.relation, chosen.seeds)
        command = (
            f"keras-dml reproduce wasserstein --manual-dir DIR --domain {domain} --scale {scale} "
            f"--seeds {chosen.seeds}"
        )
        page = _page.write(
            out,
            title,
            [*lead, plots.claim(tables["divergences"])],
            sections,
            WRITTEN,
            command,
            start,
            seeds=", ".join(map(str, range(chosen.seeds))),
            training=_training(chosen),
        )
    for section in sections:
        _console.section(section, gap=1)
    _console.echo(f"\n{plots.claim(tables['divergences'])}")
    _console.written([*written, page], WRITTEN, time.monotonic() - start)
    _console.echo(
        "[dim]Beside each .png: the same as .svg, and the numbers as .csv. The networks lie in "
        "runs/, as .keras files.[/dim]"
    )


def _lead(data, everything, division, names, scale):
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
    return [*said, *_page.meaning(scale)]


def _introduce(title, lead, scale):
    _console.echo(f"\n[bold]{title}[/bold], scale {scale}\n{_console.plain(lead[1])}")
    for said in (lead[0], *lead[2:]):
        _console.echo(f"[dim]{_console.plain(said)}[/dim]")


def _training(chosen):
    rate = "constant" if chosen.schedule == "constant" else "with a warm-up and a cosine decay"
    length = "whole recordings" if chosen.length is None else f"crops of {chosen.length} steps"
    return (
        f"{chosen.steps:,} steps of Adam, {rate}, {chosen.pairs} pairs of {length}; encoder "
        f"{chosen.size!r}"
    )
