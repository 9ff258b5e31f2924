"""Stages of the demo: enroll, verify, identify, draw, and the file for a device."""

import json
import shlex
import time

import numpy as np

from keras_dml import _files, reports, zoo
from keras_dml.cli import _console, _galleries
from keras_dml.gallery import Gallery
from keras_dml.zoo import catalog

GALLERY, PICTURE = "walkers.db", "who"
STAGES = 6


def show(name, get_recordings, out):
    """Runs the demo and prints its decisions.

    Args:
        name: Name of a model of the zoo.
        get_recordings: Function of the card that returns `_demo_recordings.Recordings`.
        out: Folder that is written into.

    Returns:
        The decisions and their counts, as written to `figures.json`.

    Raises:
        ValueError: If the model is unknown or its file is damaged, or there are too few people.
        OSError: If the folder cannot be written to.
    """
    start = time.monotonic()
    card = catalog.card(name)
    with _console.stage(_title(1, f"load {name}")):
        model = zoo.load(name)
    with _console.stage(_title(2, "read the recordings")):
        recordings = get_recordings(card)
    introduce(name, card, recordings)
    with Gallery(out / GALLERY, name, tries=None) as gallery:  # by its name, for the commands
        reader = _galleries.Reader(gallery, recordings.reading)
        with _console.stage(_title(3, "enroll people"), spinner=False):
            enrolled = _enroll(gallery, reader, recordings, name, out)
        with _console.stage(_title(4, "verify and identify"), spinner=False):
            new, claims, identified = _decide(gallery, reader, recordings, out)
        threshold = (gallery.thresholds or gallery.provisional)[claims[0][2].far]
    decisions = [decision for _, _, decision in claims]
    counts = _counts(claims, identified, recordings)
    _summarize(name, counts, threshold, card, recordings)
    with _console.stage(_title(5, f"draw into {out}")):
        picture = reports.claims(
            decisions,
            [who for _, who, _ in claims],
            caption=_caption(decisions[0], counts, recordings),
        )
        files = reports.save(picture, out / PICTURE)
    device, device_files = _export(name, model, enrolled, new, decisions, out)
    figures = {
        "model": name,
        "enrolled": {who: len(values) for who, values in enrolled.items()},
        "strangers": recordings.strangers,
        "threshold": threshold.value,
        "far": threshold.far,
        "far_ci95": threshold.far_ci95,
        "provisional": threshold.provisional,
        "counts": counts,
        "claims": [
            {"file": path, "of": who, "claim": decision.person, "score": decision.score}
            | {"accepted": decision.accepted}
            for path, who, decision in claims
        ],
        "identified": {path: answer.person for path, _, answer in identified},
        "device": device,
    }
    _files.write_text(out / "figures.json", json.dumps(figures, indent=2) + "\n")
    files += [out / GALLERY, out / "recordings", *device_files, out / "figures.json"]
    _conclude(name, files, time.monotonic() - start)
    return figures


def _title(number, what):
    return f"{number}/{STAGES} {what}"


def introduce(name, card, recordings):
    """Prints the model and the people."""
    trained = len(card["data"]["train_subjects"])
    _console.echo(f"\n[bold]{_console.plain(name)}[/bold]: {_console.plain(card['task'])}")
    _console.echo(
        f"{catalog.input_in_words(card)}, {card['model']['parameters']:,} parameters, trained on "
        f"{trained} people. Here are {len(recordings.new)} others."
    )
    _console.echo(f"[dim]{_console.plain(recordings.source)}[/dim]\n")


def _enroll(gallery, reader, recordings, model, out):
    """Enrolls people, and prints the commands that do the same.

    Returns:
        The enrolled recordings of each person.
    """
    options = ["--model", model, *(["--resample"] if recordings.reading.resample else [])]
    enrolled = {}
    for who, paths in recordings.enrolled.items():
        if who in gallery.people():  # of an earlier demo
            gallery.remove(who)
        folder = paths[0].rpartition("/")[0]
        _print_command("enroll", who, folder, *options)
        values = [value for path in paths for value in reader.read(out / path)]
        answer = gallery.enroll(who, values)
        reader.remember()
        _console.echo(_console.plain(answer))
        enrolled[who] = [values[i] for i in answer.kept]
        options = []  # the gallery remembers them
    return enrolled


def _decide(gallery, reader, recordings, out):
    """Verifies each new recording as each person enrolled, and identifies it. Prints the commands
    and the answers of the first recording of each person.

    Returns:
        `(new, claims, identified)`: the recordings, `(path, person, Decision)` of each claim and
        `(path, person, Identification)` of each recording.
    """
    names = list(recordings.enrolled)
    new, claims, identified = [], [], []
    for who, paths in recordings.new.items():
        for path in paths:
            observed = reader.read(out / path)
            new += observed
            claims += [(path, who, gallery.verify(name, observed)) for name in names]
            identified.append((path, who, gallery.identify(observed)))
    first = {paths[0] for paths in recordings.new.values()}
    _console.echo()
    for path, who, decision in claims:
        if path in first and decision.person == names[0] and who in (names[0], names[1]):
            _print_command("verify", decision.person, path)
            _print_answer(decision, decision.accepted == (who == decision.person))
    for path, who, answer in identified:
        if path in first:
            _print_command("identify", path)
            _print_answer(answer, answer.person == (who if who in names else None))
    return new, claims, identified


def _counts(claims, identified, recordings):
    """Returns how many decisions are right and how many there are, by kind."""
    people = recordings.enrolled
    kinds = {
        "true_claims": [d.accepted for _, who, d in claims if who == d.person],
        "false_claims": [not d.accepted for _, who, d in claims if who != d.person],
        "identified": [answer.person == who for _, who, answer in identified if who in people],
        "strangers": [answer.person is None for _, who, answer in identified if who not in people],
    }
    return {kind: {"right": sum(right), "of": len(right)} for kind, right in kinds.items()}


def _summarize(name, counts, threshold, card, recordings):
    """Prints the counts, the threshold and the figures of the card."""
    rows = [
        ("true claims accepted", "true_claims"),
        ("false claims rejected", "false_claims"),
        (f"{recordings.unit}s identified", "identified"),
        ("stranger taken for nobody", "strangers"),
    ]
    _console.echo("\n[bold]All decisions[/bold]")
    _console.table(
        (),
        [(text, f"{counts[kind]['right']} of {counts[kind]['of']}") for text, kind in rows],
        header=False,
    )
    low, high = (100 * bound for bound in threshold.far_ci95)
    _console.echo(
        f"The threshold for {100 * threshold.far:g} % false accepts "
        + (
            f"is provisional: it is of the {threshold.people} people of the card"
            if threshold.provisional
            else f"is of the {threshold.people} people who calibrated the gallery"
        )
        + f", and the rate of as many others is {low:.1f} to {high:.1f} % (95 %). With people of "
        f"your own: keras-dml calibrate {GALLERY} volunteers/"
    )
    headline = card["headline"]
    rates = ", ".join(
        f"{catalog.metric_in_words(row['metric'])} "
        f"{catalog.with_interval(row['value'], row['ci95'])}"
        for row in headline["rows"]
        if catalog.is_rate(row)
    )
    _console.echo(
        f"{recordings.choice} On the {headline['people']} people of its card, "
        f"{_console.plain(name)} has {rates}."
    )


def _caption(decision, counts, recordings):
    """Returns the caption of the picture."""
    later, unknown = counts["identified"]["of"], counts["strangers"]["of"]
    fewest, most = (pick(map(len, recordings.enrolled.values())) for pick in (min, max))
    enrolled = str(fewest) if fewest == most else f"{fewest} to {most}"
    return (
        f"{len(recordings.enrolled)} people enrolled with {enrolled} {recordings.unit}s each; "
        f"{later} later {recordings.unit}s of these people and {unknown} of a stranger. The model "
        f"has seen none of them. {recordings.choice} Threshold: FAR {100 * decision.far:g} %, "
        f"{'of the card (provisional)' if decision.provisional else 'of the gallery'}. "
        f"{recordings.source}"
    )


def _export(name, model, enrolled, new, decisions, out):
    """Writes the TFLite file and compares its decisions with those of Keras.

    Returns:
        `(figures, paths)`; None and no path if Keras runs on another backend than TensorFlow.
    """
    from keras_dml._backend import tensorflow

    if not tensorflow.is_backend():
        _console.note(
            "No TFLite file: TensorFlow writes it, and Keras runs on another backend here."
        )
        return None, []
    with _console.stage(_title(6, "write the TFLite file and compare it with Keras")):
        from keras_dml import export
        from keras_dml.export import litert

        file = out / f"{name}.tflite"
        exported = export.tflite(model, file)
        owners = np.repeat(list(enrolled), [len(values) for values in enrolled.values()])
        gallery = litert.embed(file, [value for values in enrolled.values() for value in values])
        distances = litert.distance(file, litert.embed(file, new), gallery)  # (new, enrolled)
    nearest = np.stack([distances[:, owners == who].min(axis=1) for who in enrolled], axis=1)
    accepted = nearest.ravel() <= decisions[0].threshold
    agreeing = int(sum(accepted == [decision.accepted for decision in decisions]))
    _console.echo(
        f"\n[bold]{_console.plain(file.name)}[/bold], the same model for a watch, has "
        f"{exported.bytes / 1000:,.0f} kB and decides {agreeing} of {len(decisions)} claims as "
        "Keras does."
    )
    figures = {"bytes": exported.bytes, "claims_as_keras": agreeing, "claims": len(decisions)}
    return figures, [file]


def _conclude(name, files, seconds):
    """Prints the files written and the next commands."""
    descriptions = {
        f"{PICTURE}.png": "how near each recording is to each person, also as .svg",
        GALLERY: "the gallery: try the commands above on it",
        "recordings": "the recordings, as files",
        "figures.json": "all decisions, for programs",
        f"{name}.tflite": "signatures embed and distance, for a device",
    }
    _console.written(files, descriptions, seconds)
    _console.echo(
        f"\n[bold]Next[/bold]\nkeras-dml card {name}      data, license, limits\n"
        "keras-dml list      other models\n"
        f'In Python: gallery = keras_dml.Gallery("{GALLERY}", "{name}")'
    )


def _print_command(verb, *words):
    _console.echo(f"[bold]keras-dml {_console.plain(shlex.join([verb, GALLERY, *words]))}[/bold]")


def _print_answer(answer, is_right):
    _console.echo(f"{_console.plain(answer)}: {'right' if is_right else 'wrong'}")
