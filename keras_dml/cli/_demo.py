"""The demo, stage by stage: model, embeddings, figures, pictures, the file for a device."""

import json
import os
import time

import numpy as np

from keras_dml import evaluation, reports
from keras_dml.cli import _rounds, _screen
from keras_dml.zoo import catalogue

CURVES_PER_PERSON = 12  # recordings drawn in the picture of two people; more hide each other
STAGES = 6


def show(name, get_recordings, out):
    """Runs the demo and prints what it finds; embeddings are neither printed nor written.

    Args:
        name: A model of the zoo.
        get_recordings: Takes the card's `train_subjects`, gives `_recordings.Recordings`.
        out: Folder that is written into; made when it is not there.

    Raises:
        ValueError: If the model is unknown or its file damaged, or there are too few people.
        OSError: If the folder cannot be written to.
    """
    start = time.monotonic()
    card = catalogue.card(name)
    out.mkdir(parents=True, exist_ok=True)
    with _screen.stage(_title(1, "read the recordings")):
        recordings = get_recordings(card["data"]["train_subjects"])
    with _screen.stage(_title(2, f"load {name}")), _screen.quietly():
        from keras_dml import zoo

        model = zoo.load(name)
    _introduce(name, card, recordings)
    with _screen.stage(
        _title(3, f"embed {len(recordings.enrolled) + len(recordings.probes):,} recordings"),
        spinner=False,
    ):
        enrolled, probes, distances = _embed(model, recordings)
    with _screen.stage(_title(4, "compare")):
        rounds, pooled = _play(distances, recordings)
    _print_rounds(rounds, recordings)
    _print_decisions(distances, recordings, card["thresholds"], pooled[1])
    with _screen.stage(_title(5, f"draw into {out}")):
        written = _draw(rounds, pooled, enrolled, recordings, out)
        written.append(_write_figures(name, rounds, out))
    _screen.say()
    written += _for_device(model, name, recordings, (enrolled, probes, distances), out)
    _conclude(name, written, time.monotonic() - start)


def _title(number, what):
    return f"{number}/{STAGES} {what}"


def _counted(count, unit):
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _introduce(name, card, recordings):
    people, trained = recordings.people, card["data"]["train_subjects"]
    _screen.say(f"\n[bold]{name}[/bold]: {_screen.plain(card['task'])}")
    _screen.say(
        f"{catalogue.input_in_words(card)}, {card['model']['parameters']:,} parameters, trained on "
        f"{len(trained)} people"
    )
    _screen.say(
        f"Here are {len(people)} others: {len(recordings.enrolled):,} {recordings.unit}s to enrol, "
        f"{len(recordings.probes):,} to observe later"
    )
    for note in (recordings.source, *recordings.notes):
        _screen.say(f"[dim]{_screen.plain(note)}[/dim]")
    _screen.say()


def _embed(model, recordings):
    from keras_dml import distance, embed

    embeddings = embed(model, [*recordings.enrolled, *recordings.probes])
    enrolled, probes = np.split(embeddings, [len(recordings.enrolled)])
    return enrolled, probes, distance(model, probes, enrolled)


def _play(distances, recordings):
    """Rounds by number of probes observed, and all trials of each pooled."""
    rounds, pooled = {}, {}
    for count in recordings.observed:
        scores, owners, people = _rounds.scores_by_person(
            distances, recordings.probe_people, recordings.enrolled_people, count
        )
        rounds[count] = _rounds.play(scores, owners, people, count)
        pooled[count] = evaluation.verification(scores, owners[:, None] == people[None, :])
    return rounds, pooled


def _print_rounds(rounds, recordings):
    columns = (
        "\nimposter",
        "verified:\nAUC",
        "\nEER",
        "genuine +\nimposter",
        "\nidentified",
        "stranger:\nAUC",
    )
    for count, played in rounds.items():
        rows = [_row(one, recordings) for one in played]
        _screen.say(f"\n[bold]{_counted(count, recordings.unit)} observed[/bold]")
        _screen.table(columns, [*rows, _mean_row(played)], gap=1)


def _row(one, recordings):
    who, trials = one.strangers, one.verification.trials
    return (
        recordings.of(who[0]) if len(who) == 1 else _counted(len(who), recordings.person),
        f"{one.verification.auc:.3f}",
        f"{100 * one.verification.eer:.1f} %",
        f"{trials.genuine:,} + {trials.imposter:,}",
        f"{100 * one.identification.accuracy:.1f} % of {one.identification.trials:,}",
        f"{one.rejection.auc:.3f} of {one.rejection.detection.trials.imposter:,}",
    )


def _mean_row(played):
    means = {name: _rounds.mean(played, name) for name in _rounds.RATES}
    auc, rejected = (
        f"{mean:.3f} ± {error:.3f}"
        for mean, error in (means["verification_auc"], means["rejection_auc"])
    )
    eer, accuracy = (
        f"{100 * mean:.1f} % ± {100 * error:.1f}"
        for mean, error in (means["verification_eer"], means["identification_accuracy"])
    )
    return "mean ± s.e.", auc, eer, "", accuracy, rejected


def _print_decisions(distances, recordings, thresholds, pooled):
    """The first probe of the first person: a true claim, a false one, and the others' gallery."""
    threshold, meaning = _threshold(thresholds, pooled)
    scores, owners, people = _rounds.scores_by_person(
        distances, recordings.probe_people, recordings.enrolled_people, 1
    )
    me = recordings.people[0]
    row = scores[np.flatnonzero(owners == me)[0]]
    by_name = dict(zip(people.tolist(), row.tolist(), strict=True))
    others = {name: score for name, score in by_name.items() if name != me}
    nearest = min(others, key=others.get)
    cases = [
        (f"is {recordings.of(me)}", by_name[me], True),
        (f"is {recordings.of(nearest)}, the nearest other", others[nearest], False),
        ("nothing, and is not enrolled", others[nearest], False),
    ]
    rows = []
    for claim, score, expected in cases:
        accepted = score <= threshold
        decision = "accepted" if accepted else "rejected"
        rows.append((claim, f"{score:.3g}", decision, "right" if accepted == expected else "wrong"))
    _screen.say(
        f"\n[bold]One {recordings.unit} of {recordings.of(me)}[/bold], the first observed\n"
        f"Accepted up to a distance of {threshold:.3g}, {meaning}."
    )
    _screen.table(("claim", "distance", "decision", ""), rows)


def _threshold(thresholds, pooled):
    """The card's threshold for the smallest false accept rate, else that of equal errors here."""
    if not thresholds:
        return pooled.eer_threshold, "where both errors are equal here"
    chosen = min(thresholds, key=lambda entry: entry["far"])
    accepted = pooled.scores <= chosen["value"]
    genuine, imposter = (accepted[kind].mean() for kind in (pooled.genuine, ~pooled.genuine))
    return chosen["value"], (
        f"the card's threshold for {100 * chosen['far']:g} % false accepts.\nHere it accepts "
        f"{100 * genuine:.1f} % of {pooled.trials.genuine:,} genuine and {100 * imposter:.1f} % of "
        f"{pooled.trials.imposter:,} imposter trials"
    )


def _draw(rounds, pooled, enrolled, recordings, out):
    """Writes the pictures with the numbers they were drawn from; gives their paths."""
    named = {
        _counted(count, recordings.unit): [one.verification for one in played]
        for count, played in rounds.items()
    }
    eers = {count: _rounds.mean(played, "verification_eer")[0] for count, played in rounds.items()}
    errs = (
        f"{100 * eer:.1f} % with {_counted(count, recordings.unit)}" for count, eer in eers.items()
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
    rows = [_rounds.figures(one) for played in rounds.values() for one in played]
    path, part = out / "figures.json", out / ".figures.json.part"
    part.write_text(json.dumps({"model": name, "rounds": rows}, indent=2) + "\n", encoding="utf-8")
    os.replace(part, path)
    return path


def _for_device(model, name, recordings, by_keras, out):
    """Writes the TFLite file and holds its answers against Keras's on all recordings of the
    demo."""
    from keras_dml._keras import keras

    if keras.backend.backend() != "tensorflow":
        _screen.note(
            "No TFLite file: TensorFlow writes it, and Keras runs on another backend here."
        )
        return []
    with _screen.stage(_title(6, "write the TFLite file and hold it against Keras")):
        from keras_dml import export
        from keras_dml.export import litert

        enrolled, probes, distances = by_keras
        file = out / f"{name}.tflite"
        made = export.tflite(model, file)
        gallery = litert.embed(file, recordings.enrolled)
        found = litert.distance(file, litert.embed(file, recordings.probes), gallery)
    _print_device(made, recordings, distances, found)
    return [file]


def _print_device(made, recordings, distances, found):
    pairs = f"{len(recordings.probes):,} × {len(recordings.enrolled):,}"
    keras_scores, file_scores = (
        _rounds.scores_by_person(table, recordings.probe_people, recordings.enrolled_people, 1)
        for table in (distances, found)
    )
    same = np.mean(keras_scores[0].argmin(axis=1) == file_scores[0].argmin(axis=1))
    aucs = [
        evaluation.verification(scores, owners[:, None] == people[None, :]).auc
        for scores, owners, people in (keras_scores, file_scores)
    ]
    off = np.median(np.abs(found - distances) / np.maximum(distances, np.median(distances)))
    _screen.say("\n[bold]The same model as a file for a watch[/bold], run by LiteRT, against Keras")
    _screen.table(
        (),
        [
            (
                "size",
                f"{made.bytes / 1000:,.0f} kB; {made.steps} steps embedded in "
                f"{made.latency_ms:.2g} ms",
            ),
            ("distances", f"{pairs}, half of them off by less than {100 * off:.2g} %"),
            (
                "nearest person",
                f"the same for {100 * same:.1f} % of {len(recordings.probes):,} probes",
            ),
            ("verification AUC", f"{aucs[1]:.4f}, Keras {aucs[0]:.4f}"),
        ],
        header=False,
    )


def _conclude(name, written, seconds):
    out = written[0].parent
    _screen.say(f"\n[bold]Written to {_screen.plain(str(out))}[/bold] in {seconds:.0f} s")
    what = {
        "roc_det.png": "error rates of all thresholds",
        "scores.png": "distances of true and of false claims",
        "two_people.png": "quantile functions of two people: what is compared",
        "figures.json": "the figures above, for programs",
        f"{name}.tflite": "signatures embed and distance, for a device",
    }
    names = [path.name for path in written]
    _screen.table((), [(file, text) for file, text in what.items() if file in names], header=False)
    _screen.say("[dim]Beside the pictures: the same as .svg, and their numbers as .csv.[/dim]")
    _screen.say(
        f"\n[bold]Next[/bold]\nkeras-dml card {name}      data, licence, limits\n"
        "keras-dml list      other models\n"
        "keras-dml export --help      files for servers and devices\n"
        f'In Python: model = keras_dml.zoo.load("{name}")'
    )
