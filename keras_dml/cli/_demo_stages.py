"""Stages of the demo: model, embeddings, figures, gallery, plots, the file for a device."""

import json
import time

import numpy as np

from keras_dml import _files, reports
from keras_dml.cli import _console, _demo_gallery, _demo_report, _demo_trials
from keras_dml.zoo import catalog

CURVES_PER_PERSON = 12  # recordings drawn in the plot of two people; more hide each other
STAGES = 7


def show(name, get_recordings, out):
    """Runs the demo and prints its figures; embeddings are not printed, and written to its gallery
    alone.

    Args:
        name: Name of a model of the zoo.
        get_recordings: Function of the card's `train_subjects` that returns
            `_demo_recordings.Recordings`.
        out: Folder that is written into.

    Returns:
        The figures, as written to `figures.json`.

    Raises:
        ValueError: If the model is unknown or its file damaged, or there are too few people.
        OSError: If the folder cannot be written to.
    """
    start = time.monotonic()
    card = catalog.card(name)
    with _console.stage(_title(1, "read the recordings")):
        recordings = get_recordings(card["data"]["train_subjects"])
    with _console.stage(_title(2, f"load {name}")):
        from keras_dml import zoo

        model = zoo.load(name)
    _demo_report.introduce(name, card, recordings)
    with _console.stage(
        _title(3, f"embed {len(recordings.enrolled) + len(recordings.probes):,} recordings"),
        spinner=False,
    ):
        enrolled, distances = embed_all(model, recordings)
    with _console.stage(_title(4, "compare")):
        repeated, pooled = repeat(distances, recordings)
    for count, rows in repeated.items():
        _demo_report.error_rates(count, rows, pooled[count], recordings)
    threshold = _demo_report.decision_threshold(card["thresholds"], pooled[1])
    with _console.stage(_title(5, "enroll people in a gallery"), spinner=False):
        decided, kept = _demo_gallery.show(name, card["input"], recordings, threshold, out)
    with _console.stage(_title(6, f"draw into {out}")):
        written = _draw(repeated, pooled, enrolled, recordings, out)
    _console.echo()
    device, files = _export(model, name, recordings, distances, out)
    figures = {
        "model": name,
        "pooled": [_demo_trials.pooled_figures(count, one) for count, one in pooled.items()],
        "repetitions": [_demo_trials.figures(one) for rows in repeated.values() for one in rows],
        "gallery": decided,
        "device": device,
    }
    _files.write_text(out / "figures.json", json.dumps(figures, indent=2) + "\n")
    written = [*written, *kept, *files, out / "figures.json"]
    _demo_report.conclude(name, written, time.monotonic() - start)
    return figures


def _title(number, what):
    return f"{number}/{STAGES} {what}"


def embed_all(model, recordings):
    """Embeddings of the enrolled, and distances `(probes, enrolled)`."""
    from keras_dml import distance, embed

    embeddings = embed(model, [*recordings.enrolled, *recordings.probes])
    enrolled, probes = np.split(embeddings, [len(recordings.enrolled)])
    return enrolled, distance(model, probes, enrolled)


def repeat(distances, recordings):
    """Repetitions by number of probes observed, and all trials of each pooled."""
    repeated, pooled = {}, {}
    for count in recordings.observed:
        scores, owners, people = _demo_trials.scores_by_person(
            distances, recordings.probe_people, recordings.enrolled_people, count
        )
        repeated[count] = _demo_trials.repetitions(scores, owners, people, count)
        pooled[count] = _demo_trials.together(scores, owners, people)
    return repeated, pooled


def _draw(repeated, pooled, enrolled, recordings, out):
    """Writes the plots and the numbers drawn in them; returns their paths."""
    named = {
        _demo_report.counted(count, recordings.unit): [one.verification for one in rows]
        for count, rows in repeated.items()
    }
    eers = {
        count: _demo_trials.mean(rows, "verification_eer")[0] for count, rows in repeated.items()
    }
    errs = (
        f"{100 * eer:.1f} % with {_demo_report.counted(count, recordings.unit)}"
        for count, eer in eers.items()
    )
    caption = f"{len(recordings.people)} people not trained on. {recordings.source}"
    curves = reports.verification_curves(
        named,
        title=f"Equal error rate {', '.join(errs)}",
        caption=f"A repetition is one choice of imposters. {caption}",
    )
    written = reports.save(curves, out / "roc_det", reports.verification_table(named))
    histogram = reports.score_histogram(
        pooled[1], caption=f"One {recordings.unit} observed. {caption}"
    )
    written += reports.save(histogram, out / "scores", reports.scores_table(pooled[1]))
    first, second = (
        enrolled[recordings.enrolled_people == name][:CURVES_PER_PERSON]
        for name in recordings.people[:2]
    )
    names = [recordings.label(name).capitalize() for name in recordings.people[:2]]
    people = reports.quantile_curves(first, second, names=names, caption=recordings.source)
    return written + reports.save(people, out / "two_people")


def _export(model, name, recordings, distances, out):
    """Writes the TFLite file and compares its distances with Keras's on all the recordings.

    Returns:
        `(figures, paths)`; None and no path where Keras runs on another backend than TensorFlow.
    """
    from keras_dml._backend import tensorflow

    if not tensorflow.is_backend():
        _console.note(
            "No TFLite file: TensorFlow writes it, and Keras runs on another backend here."
        )
        return None, []
    with _console.stage(_title(7, "write the TFLite file and compare it with Keras")):
        from keras_dml import export
        from keras_dml.export import litert

        file = out / f"{name}.tflite"
        exported = export.tflite(model, file)
        gallery = litert.embed(file, recordings.enrolled)
        found = litert.distance(file, litert.embed(file, recordings.probes), gallery)
    figures = _demo_report.compared_with_keras(exported, recordings, distances, found)
    _demo_report.device_file(figures, recordings)
    return figures, [file]
