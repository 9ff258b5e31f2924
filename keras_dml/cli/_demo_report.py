"""What the demo says: tables and sentences on stdout."""

import numpy as np

from keras_dml import evaluation
from keras_dml.cli import _console, _trials
from keras_dml.zoo import catalog


def introduce(name, card, recordings):
    """Which model, and on whom it is tried."""
    people, trained = recordings.people, card["data"]["train_subjects"]
    _console.say(f"\n[bold]{_console.plain(name)}[/bold]: {_console.plain(card['task'])}")
    _console.say(
        f"{catalog.input_in_words(card)}, {card['model']['parameters']:,} parameters, trained "
        f"on {len(trained)} people"
    )
    _console.say(
        f"Here are {len(people)} others: {len(recordings.enrolled):,} {recordings.unit}s to "
        f"enroll, {len(recordings.probes):,} to observe later"
    )
    for note in (recordings.source, *recordings.notes):
        _console.say(f"[dim]{_console.plain(note)}[/dim]")
    _console.say()


def rounds_played(rounds, recordings):
    """A table for each number of probes observed: a row a round, and their mean."""
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
        _console.say(f"\n[bold]{counted(count, recordings.unit)} observed[/bold]")
        _console.table(columns, [*rows, _mean_row(played)], gap=1)


def decisions(distances, recordings, thresholds, pooled):
    """The first probe of the first person: a true claim, a false one, and the others' gallery."""
    threshold, meaning = _threshold(thresholds, pooled)
    scores, owners, people = _trials.scores_by_person(
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
    _console.say(
        f"\n[bold]One {recordings.unit} of {_console.plain(recordings.of(me))}[/bold], the first "
        "observed\n"
        f"Accepted up to a distance of {threshold:.3g}, {meaning}."
    )
    _console.table(("claim", "distance", "decision", ""), rows)


def device_file(made, recordings, distances, found):
    """Size and speed of a TFLite file, and how near its answers are to Keras's.

    Args:
        made: `export.Export`.
        recordings: `Recordings`.
        distances: By Keras, shape `(probes, enrolled)`.
        found: By the file.
    """
    pairs = f"{len(recordings.probes):,} × {len(recordings.enrolled):,}"
    keras_scores, file_scores = (
        _trials.scores_by_person(table, recordings.probe_people, recordings.enrolled_people, 1)
        for table in (distances, found)
    )
    same = np.mean(keras_scores[0].argmin(axis=1) == file_scores[0].argmin(axis=1))
    aucs = [
        evaluation.verification(scores, owners[:, None] == people[None, :]).auc
        for scores, owners, people in (keras_scores, file_scores)
    ]
    off = np.median(np.abs(found - distances) / np.maximum(distances, np.median(distances)))
    _console.say(
        "\n[bold]The same model as a file for a watch[/bold], run by LiteRT, against Keras"
    )
    _console.table(
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


def conclude(name, written, seconds):
    """What was written, and what to do next."""
    out = written[0].parent
    _console.say(f"\n[bold]Written to {_console.plain(out)}[/bold] in {seconds:.0f} s")
    what = {
        "roc_det.png": "error rates of all thresholds",
        "scores.png": "distances of true and of false claims",
        "two_people.png": "quantile functions of two people: what is compared",
        "figures.json": "the figures above, for programs",
        f"{name}.tflite": "signatures embed and distance, for a device",
    }
    names = [path.name for path in written]
    _console.table((), [(file, text) for file, text in what.items() if file in names], header=False)
    _console.say("[dim]Beside the pictures: the same as .svg, and their numbers as .csv.[/dim]")
    _console.say(
        f"\n[bold]Next[/bold]\nkeras-dml card {name}      data, license, limits\n"
        "keras-dml list      other models\n"
        "keras-dml export --help      files for servers and devices\n"
        f'In Python: model = keras_dml.zoo.load("{name}")'
    )


def counted(count, unit):
    """`1 window`, `2 windows`."""
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _row(one, recordings):
    who, trials = one.strangers, one.verification.trials
    return (
        recordings.of(who[0]) if len(who) == 1 else counted(len(who), recordings.person),
        f"{one.verification.auc:.3f}",
        f"{100 * one.verification.eer:.1f} %",
        f"{trials.genuine:,} + {trials.imposter:,}",
        f"{100 * one.identification.accuracy:.1f} % of {one.identification.trials:,}",
        f"{one.rejection.auc:.3f} of {one.rejection.detection.trials.imposter:,}",
    )


def _mean_row(played):
    means = {name: _trials.mean(played, name) for name in _trials.RATES}
    auc, rejected = (
        f"{mean:.3f} ± {error:.3f}"
        for mean, error in (means["verification_auc"], means["rejection_auc"])
    )
    eer, accuracy = (
        f"{100 * mean:.1f} % ± {100 * error:.1f}"
        for mean, error in (means["verification_eer"], means["identification_accuracy"])
    )
    return "mean ± s.e.", auc, eer, "", accuracy, rejected


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
