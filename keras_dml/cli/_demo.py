"""Runs the demo, which enrolls, verifies and identifies people. Only its export needs Keras."""

import json
import pathlib
import shlex
import time

from keras_dml import _files, edge, reports
from keras_dml.cli import _console, _extras, _galleries, _options
from keras_dml.zoo import catalog

MODEL = "watch_lda"
WALKS = pathlib.Path(__file__).with_name("demo_data") / "walks"
WALKERS, STRANGER = ("s05", "s21", "s22"), "s17"
ENROLLED_WALKS = 5  # per person, the same number as for the thresholds of the card
SOURCE = (
    "A watch measured the acceleration during four to six seconds of walking per recording. Each "
    "person was recorded in one sitting (Matey-Sanz et al. 2023, CC BY 4.0)."
)
CHOICE = (
    "Five people of this data set were not used to train the model. From these five people, three "
    "people to enroll and one stranger can be chosen in 20 ways. The demo uses the choice with the "
    "best decisions. Over all 20 choices, the model accepts 62 to 100 % of the true claims and "
    "rejects 96 to 100 % of the false claims."
)
GALLERY, PICTURE = "walkers.db", "who"
STAGES = 5


def run(out):
    """Runs the demo in a folder, prints the decisions, and returns the content of `figures.json`.

    Raises:
        ValueError: If the model file is damaged, or if the model was trained on people of the demo.
        OSError: If the folder cannot be written to.
    """
    start = time.monotonic()
    card = catalog.card(MODEL)
    edge.load(MODEL)  # a damaged file is an error before anything is written
    with _stage(1, "copy the recordings"):
        enrolled, new = copy_walks(card, out)
    introduce(MODEL, card)
    with edge.Gallery(out / GALLERY, MODEL, tries=None) as walkers:
        reader = _galleries.Reader(walkers, _options.Reading(resample=True))
        with _stage(2, "enroll people", spinner=False):
            _enroll(walkers, reader, enrolled, out)
        with _stage(3, "verify and identify", spinner=False):
            claims, identified = _decide(walkers, reader, new, out)
        people, threshold = walkers.people(), walkers.deciding
    decisions = [decision for _, _, decision in claims]
    counts = _summarize(claims, identified, threshold, card["headline"])
    caption = (
        f"{len(WALKERS)} people were enrolled with {ENROLLED_WALKS} walks each and compared with "
        f"{len(identified)} later walks. The threshold was set for a FAR of "
        f"{100 * threshold.far:g} %. {CHOICE} {SOURCE}"
    )
    files = _draw(decisions, [owner for _, owner, _ in claims], caption, out)
    device, device_files = _export(out)
    figures = {
        **{"model": MODEL, "enrolled": people, "strangers": [STRANGER]},
        **{"threshold": threshold.value, "far": threshold.far, "far_ci95": threshold.far_ci95},
        **{"provisional": threshold.provisional, "counts": counts, "device": device},
        "claims": [
            {"file": path, "of": owner, "claim": d.person, "score": d.score, "accepted": d.accepted}
            for path, owner, d in claims
        ],
        "identified": {path: answer.person for path, _, answer in identified},
    }
    _files.write_text(out / "figures.json", json.dumps(figures, indent=2) + "\n")
    files += [out / GALLERY, out / "recordings", *device_files, out / "figures.json"]
    _conclude(files, time.monotonic() - start)
    return figures


def copy_walks(card, out):
    """Copies the walks that the package contains into the demo's folder.

    Returns:
        Two dicts `{person: paths}` with paths in the folder. The first dict has the first five
        walks of each enrolled person. The second dict has the later walks of the enrolled people,
        and all walks of the stranger.
    """
    seen = sorted({*WALKERS, STRANGER} & set(card["data"]["train_subjects"]))
    if seen:
        raise ValueError(
            f"The model was trained on {', '.join(seen)}. The demo needs people who are not in the "
            "training data. Unset KERAS_DML_ZOO to load the published model."
        )
    enrolled, new = {}, {}
    for person in (*WALKERS, STRANGER):
        files = sorted((WALKS / person).glob("*.csv"))
        count = 0 if person == STRANGER else ENROLLED_WALKS
        first = [f"recordings/enrolled/{person}/{file.name}" for file in files[:count]]
        new[person] = [f"recordings/new/{person}-{file.name}" for file in files[count:]]
        if first:
            enrolled[person] = first
        for file, path in zip(files, first + new[person], strict=True):
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            _files.write_text(out / path, file.read_text())
    return enrolled, new


def introduce(name, card):
    """Prints facts about a model, and prints where the recordings come from."""
    _console.echo(f"\n[bold]{_console.escape(name)}[/bold]: {_console.escape(card['task'])}")
    _console.echo(
        f"{catalog.input_in_words(card)}, {card['model']['parameters']:,} parameters, trained on "
        f"{len(card['data']['train_subjects'])} people.\n[dim]{SOURCE}[/dim]\n"
    )


def _enroll(gallery, reader, enrolled, out):
    """Enrolls people and prints the equivalent commands."""
    options = ["--model", MODEL, "--resample"]
    for person, paths in enrolled.items():
        if person in gallery.people():  # enrolled by an earlier demo
            gallery.remove(person)
        _print_command("enroll", person, paths[0].rpartition("/")[0], *options)
        answer = gallery.enroll(person, [v for path in paths for v in reader.read(out / path)])
        reader.remember()
        _console.echo(_console.escape(answer))
        options = []  # later commands need no options, because the gallery stores them


def _decide(gallery, reader, new, out):
    """Verifies each new recording against each enrolled person, and identifies the person.

    For the first recording of each person, the equivalent commands and their output are printed.

    Returns:
        Tuple `(claims, identified)`. `claims` is a list with one tuple `(path, true person,
        Decision)` per claim. `identified` is a list with one tuple `(path, true person,
        Identification)` per recording.
    """
    claims, identified = [], []
    for person, paths in new.items():
        for path in paths:
            probe = reader.read(out / path)
            claims += [(path, person, gallery.verify(walker, probe)) for walker in WALKERS]
            identified.append((path, person, gallery.identify(probe)))
    first_paths = {paths[0] for paths in new.values()}
    _console.echo()
    for path, owner, decision in claims:
        if path in first_paths and decision.person == WALKERS[0] and owner in WALKERS[:2]:
            _print_command("verify", decision.person, path)
            _print_answer(decision, decision.accepted == (owner == decision.person))
    for path, owner, answer in identified:
        if path in first_paths:
            _print_command("identify", path)
            _print_answer(answer, answer.person == (None if owner == STRANGER else owner))
    return claims, identified


def _summarize(claims, identified, threshold, headline):
    """Prints the number of correct decisions, the threshold, and the figures of the model's card.

    Returns:
        Dictionary from each kind of decision to two counts: correct decisions (`right`) and all
        decisions (`of`).
    """
    kinds = {
        "true claims accepted": [d.accepted for _, who, d in claims if who == d.person],
        "false claims rejected": [not d.accepted for _, who, d in claims if who != d.person],
        "walks identified": [a.person == who for _, who, a in identified if who != STRANGER],
        "stranger taken for nobody": [not a.person for _, who, a in identified if who == STRANGER],
    }
    counts = {kind: {"right": sum(right), "of": len(right)} for kind, right in kinds.items()}
    _console.echo("\n[bold]All decisions[/bold]")
    rows = [(kind, f"{count['right']} of {count['of']}") for kind, count in counts.items()]
    _console.print_table((), rows, header=False)
    low, high = (100 * bound for bound in threshold.far_ci95)
    _console.echo(
        f"The threshold for a false accept rate of {100 * threshold.far:g} % is provisional, "
        f"because it is from the model's card and was set on {threshold.people} people. On "
        f"{threshold.people} other people, the 95 % interval of the rate is {low:.1f} to "
        f"{high:.1f} %. To set a threshold on your own recordings: "
        f"keras-dml calibrate {GALLERY} volunteers/"
    )
    rates = [
        f"{catalog.metric_in_words(row['metric'])} {catalog.value_in_words(row)}"
        for row in headline["rows"]
        if catalog.is_rate(row)
    ]
    _console.echo(
        f"{CHOICE} The card of {MODEL} reports {', '.join(rates)} on {headline['people']} people."
    )
    return counts


def _draw(decisions, owners, caption, out):
    """Draws the picture. Returns the written files, or no files if Matplotlib is missing."""
    try:
        _extras.require_pictures()
    except ImportError as error:
        _console.note(f"The picture was not drawn. {_console.escape(error)}")
        return []
    with _stage(4, f"draw into {out}"):
        return reports.save(reports.claims(decisions, owners, caption=caption), out / PICTURE)


def _export(out):
    """Writes the TFLite file. Returns its size and drift as a dict, and a list of paths. Without
    Keras, or if its backend is not TensorFlow, returns `(None, [])`."""
    try:
        _extras.require_keras("The export")
    except ImportError as error:
        _console.note(f"The TFLite file was not written. {_console.escape(error)}")
        return None, []
    from keras_dml._backend import tensorflow

    if not tensorflow.is_backend():
        _console.note(
            "The TFLite file was not written. It needs TensorFlow, but Keras uses another backend."
        )
        return None, []
    with _stage(5, "write the TFLite file and compare it with Keras"):
        from keras_dml import export, zoo

        exported = export.tflite(zoo.load(MODEL), out / f"{MODEL}.tflite")
    name, size, drift = exported.path.name, exported.bytes / 1000, 100 * exported.drift
    _console.echo(f"\n{name}: {size:,.0f} kB, outputs differ from Keras by {drift:.2g} %")
    return {"bytes": exported.bytes, "drift": exported.drift}, [exported.path]


def _conclude(files, seconds):
    """Prints the written files and the commands to try next."""
    descriptions = {
        f"{PICTURE}.png": "picture of the scores of all recordings, also as .svg",
        GALLERY: "the gallery that the commands above use",
        "recordings": "the recordings, as files",
        "figures.json": "all decisions as JSON",
        f"{MODEL}.tflite": "model for a device, with the signatures embed and distance",
    }
    _console.print_files(files, descriptions, seconds)
    _console.echo(
        f"\n[bold]Next[/bold]\nkeras-dml card {MODEL}      data, license, limits\n"
        "keras-dml list                other models"
    )


def _stage(number, title, spinner=True):
    return _console.stage(f"{number}/{STAGES} {title}", spinner=spinner)


def _print_command(verb, *words):
    _console.echo(f"[bold]keras-dml {_console.escape(shlex.join([verb, GALLERY, *words]))}[/bold]")


def _print_answer(answer, is_right):
    _console.echo(f"{_console.escape(answer)}: {'right' if is_right else 'wrong'}")
