"""The demo, stage by stage: model, embeddings, figures, pictures, the file for a device."""

import json
import time

import numpy as np

from keras_dml import _files, evaluation, reports
from keras_dml.cli import _console, _demo_report, _trials
from keras_dml.zoo import catalog

CURVES_PER_PERSON = 12  # recordings drawn in the picture of two people; more hide each other
STAGES = 6


def show(name, get_recordings, out):
    """Runs the demo and prints what it finds; embeddings are neither printed nor written.

    Args:
        name: A model of the zoo.
        get_recordings: Takes the card's `train_subjects`, gives `_recordings.Recordings`.
        out: Folder that is written into.

    Raises:
        ValueError: If the model is unknown or its file damaged, or there are too few people.
        OSError: If the folder cannot be written to.
    """
    start = time.monotonic()
    card = catalog.card(name)
    with _console.stage(_title(1, "read the recordings")):
        recordings = get_recordings(card["data"]["train_subjects"])
    with _console.stage(_title(2, f"load {name}")), _console.quietly():
        from keras_dml import zoo

        model = zoo.load(name)
    _demo_report.introduce(name, card, recordings)
    with _console.stage(
        _title(3, f"embed {len(recordings.enrolled) + len(recordings.probes):,} recordings"),
        spinner=False,
    ):
        enrolled, distances = _embed(model, recordings)
    with _console.stage(_title(4, "compare")):
        rounds, pooled = _play(distances, recordings)
    _demo_report.rounds_played(rounds, recordings)
    _demo_report.decisions(distances, recordings, card["thresholds"], pooled[1])
    with _console.stage(_title(5, f"draw into {out}")):
        written = _draw(rounds, pooled, enrolled, recordings, out)
        written.append(_write_figures(name, rounds, out))
    _console.say()
    written += _for_device(model, name, recordings, distances, out)
    _demo_report.conclude(name, written, time.monotonic() - start)


def _title(number, what):
    return f"{number}/{STAGES} {what}"


def _embed(model, recordings):
    """Embeddings of the enrolled, and distances `(probes, enrolled)`."""
    from keras_dml import distance, embed

    embeddings = embed(model, [*recordings.enrolled, *recordings.probes])
    enrolled, probes = np.split(embeddings, [len(recordings.enrolled)])
    return enrolled, distance(model, probes, enrolled)


def _play(distances, recordings):
    """Rounds by number of probes observed, and all trials of each pooled."""
    rounds, pooled = {}, {}
    for count in recordings.observed:
        scores, owners, people = _trials.scores_by_person(
            distances, recordings.probe_people, recordings.enrolled_people, count
        )
        rounds[count] = _trials.play(scores, owners, people, count)
        pooled[count] = evaluation.verification(scores, owners[:, None] == people[None, :])
    return rounds, pooled


def _draw(rounds, pooled, enrolled, recordings, out):
    """Writes the pictures with the numbers they were drawn from; gives their paths."""
    named = {
        _demo_report.counted(count, recordings.unit): [one.verification for one in played]
        for count, played in rounds.items()
    }
    eers = {count: _trials.mean(played, "verification_eer")[0] for count, played in rounds.items()}
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
    names = [recordings.of(name).capitalize() for name in recordings.people[:2]]
    people = reports.quantile_curves(first, second, names=names, caption=recordings.source)
    return written + reports.save(people, out / "two_people")


def _write_figures(name, rounds, out):
    rows = [_trials.figures(one) for played in rounds.values() for one in played]
    path = out / "figures.json"
    _files.write_text(path, json.dumps({"model": name, "rounds": rows}, indent=2) + "\n")
    return path


def _for_device(model, name, recordings, distances, out):
    """Writes the TFLite file and holds its answers against Keras's on all the recordings."""
    from keras_dml._backend import tensorflow

    if not tensorflow.is_backend():
        _console.note(
            "No TFLite file: TensorFlow writes it, and Keras runs on another backend here."
        )
        return []
    with _console.stage(_title(6, "write the TFLite file and hold it against Keras")):
        from keras_dml import export
        from keras_dml.export import litert

        file = out / f"{name}.tflite"
        made = export.tflite(model, file)
        gallery = litert.embed(file, recordings.enrolled)
        found = litert.distance(file, litert.embed(file, recordings.probes), gallery)
    _demo_report.device_file(made, recordings, distances, found)
    return [file]
