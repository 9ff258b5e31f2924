"""Tables and sentences of the demo on stdout."""

import numpy as np

from keras_dml import evaluation
from keras_dml.cli import _console, _demo_trials
from keras_dml.zoo import catalog


def introduce(name, card, recordings):
    """Prints the model and the people it is tried on."""
    people, trained = recordings.people, card["data"]["train_subjects"]
    _console.echo(f"\n[bold]{_console.plain(name)}[/bold]: {_console.plain(card['task'])}")
    _console.echo(
        f"{catalog.input_in_words(card)}, {card['model']['parameters']:,} parameters, trained "
        f"on {len(trained)} people"
    )
    _console.echo(
        f"Here are {len(people)} others: {len(recordings.enrolled):,} {recordings.unit}s to "
        f"enroll, {len(recordings.probes):,} to observe later"
    )
    for note in (recordings.source, *recordings.notes):
        _console.echo(f"[dim]{_console.plain(note)}[/dim]")
    _console.echo()


def error_rates(count, repetitions, pooled, recordings):
    """Prints all trials under one threshold with intervals over people, then a table: a row a
    repetition, and their mean.

    Args:
        count: Number of probes scored together.
        repetitions: List of `_demo_trials.Repetition`.
        pooled: `evaluation.Verification` of all trials.
        recordings: `Recordings`.
    """
    people = counted(len(recordings.people), recordings.person)
    _console.echo(
        f"\n[bold]{counted(count, recordings.unit)} observed[/bold], all claims under one "
        f"threshold, in brackets 95 % intervals over {people}"
    )
    for line in str(pooled).splitlines():
        _console.echo(_console.plain(line))
    columns = (
        "\nimposter",
        "verified:\nAUC",
        "\nEER",
        "genuine +\nimposter",
        "\nidentified",
        "stranger:\nAUC",
    )
    rows = [_row(one, recordings) for one in repetitions]
    _console.table(columns, [*rows, _mean_row(repetitions)], gap=1)


def decision_threshold(thresholds, pooled):
    """Largest distance that is accepted, which is told: the card's threshold for the lowest false
    accept rate, else that of equal errors here.

    Args:
        thresholds: The card's.
        pooled: `evaluation.Verification` of all trials.
    """
    value, meaning = _threshold(thresholds, pooled)
    _console.echo(f"\nAccepted from here on up to a distance of {value:.3g}, {meaning}.")
    return value


def compared_with_keras(exported, recordings, distances, found):
    """Figures of a TFLite file: size, speed, and how well its distances agree with Keras's.

    Args:
        exported: `export.Export`.
        recordings: `Recordings`.
        distances: Distances by Keras, shape `(probes, enrolled)`.
        found: Distances by the file, same shape.

    Returns:
        Dict of plain numbers.
    """
    keras_scores, file_scores = (
        _demo_trials.scores_by_person(
            matrix, recordings.probe_people, recordings.enrolled_people, 1
        )
        for matrix in (distances, found)
    )
    same = np.mean(keras_scores[0].argmin(axis=1) == file_scores[0].argmin(axis=1))
    aucs = [
        evaluation.verification(scores, owners[:, None] == people[None, :]).auc
        for scores, owners, people in (keras_scores, file_scores)
    ]
    off = np.abs(found - distances) / np.maximum(distances, np.median(distances))
    return {
        "bytes": exported.bytes,
        "steps": exported.steps,
        "latency_ms": exported.latency_ms,
        "median_relative_difference": float(np.median(off)),
        "nearest_person_agreement": float(same),
        "verification_auc": aucs[1],
        "verification_auc_of_keras": aucs[0],
    }


def device_file(figures, recordings):
    """Prints the figures of `compared_with_keras`."""
    probes = f"{len(recordings.probes):,}"
    _console.echo(
        "\n[bold]The same model as a file for a watch[/bold], run by LiteRT, against Keras"
    )
    _console.table(
        (),
        [
            (
                "size",
                f"{figures['bytes'] / 1000:,.0f} kB; {figures['steps']} steps embedded in "
                f"{figures['latency_ms']:.2g} ms",
            ),
            (
                "distances",
                f"{probes} × {len(recordings.enrolled):,}, half of them off by less than "
                f"{100 * figures['median_relative_difference']:.2g} %",
            ),
            (
                "nearest person",
                f"the same for {100 * figures['nearest_person_agreement']:.1f} % of {probes} "
                "probes",
            ),
            (
                "verification AUC",
                f"{figures['verification_auc']:.4f}, Keras "
                f"{figures['verification_auc_of_keras']:.4f}",
            ),
        ],
        header=False,
    )


def conclude(name, written, seconds):
    """Prints the files written and the next commands."""
    descriptions = {
        "roc_det.png": "error rates of all thresholds",
        "scores.png": "distances of true and of false claims",
        "two_people.png": "quantile functions of two people, which the distance compares",
        "who.png": "who each recording was taken for",
        "why.png": "moments of a recording that made its distance",
        "people.db": "the gallery: try the commands above on it",
        "recordings": "of these people, as files",
        "figures.json": "the figures above, for programs",
        f"{name}.tflite": "signatures embed and distance, for a device",
    }
    _console.written(written, descriptions, seconds)
    _console.echo("[dim]Beside each .png: the same as .svg, and their numbers as .csv.[/dim]")
    _console.echo(
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
        recordings.label(who[0]) if len(who) == 1 else counted(len(who), recordings.person),
        f"{one.verification.auc:.3f}",
        f"{100 * one.verification.eer:.1f} %",
        f"{trials.genuine:,} + {trials.imposter:,}",
        f"{100 * one.identification.accuracy:.1f} % of {one.identification.trials:,}",
        f"{one.rejection.auc:.3f} of {one.rejection.detection.trials.imposter:,}",
    )


def _mean_row(repetitions):
    means = {name: _demo_trials.mean(repetitions, name) for name in _demo_trials.RATES}
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
    """The card's threshold for the lowest false accept rate, else that of equal errors here."""
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
