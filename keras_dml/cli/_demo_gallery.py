"""The gallery of the demo: people enrolled, verified, identified and explained, and a stranger."""

import dataclasses
import shlex

import numpy as np

from keras_dml import reports
from keras_dml.cli import _console, _demo_files, _words
from keras_dml.gallery import Gallery

MOST_PEOPLE = 4  # whose recordings are written as files, the stranger included
FAR = 0.01  # asked of `calibrate`: more than so few people support, which it says
GALLERY, ENROLLED, NEW = "people.db", "recordings/enrolled", "recordings/new"
LINES_EXPLAINED = 2  # the distance, and its moments


@dataclasses.dataclass(frozen=True, eq=False)
class Person:
    """Somebody of the demo.

    Attributes:
        name: Name in the gallery.
        enrolled: Recordings to enroll.
        new: The first recording observed later.
    """

    name: str
    enrolled: list[np.ndarray]
    new: np.ndarray

    @property
    def file(self):
        """Where the new recording is written, within the folder of the demo."""
        return f"{NEW}/{self.name}.csv"


def show(name, takes, recordings, threshold, out):
    """Enrolls some people in a gallery, but for the last, and decides on a recording of each; tells
    the commands that do the same.

    Args:
        name: Name of the model in the zoo.
        takes: The card's `input`.
        recordings: `_demo_recordings.Recordings`.
        threshold: Largest distance that is accepted.
        out: Folder that is written into.

    Returns:
        `(figures, paths)`: the decisions as plain numbers, and what was written.
    """
    *known, stranger = everybody = people(recordings)
    _write(everybody, takes, out)
    _console.echo(f"\n[bold]From files to decisions[/bold], in {_console.plain(out)} by commands:")
    with Gallery(out / GALLERY, name) as gallery:
        _enroll(gallery, known, name)
        _calibrate(gallery, known)
        told = "--threshold", f"{threshold:.4g}"
        verified = [_verify(gallery, known[0], one, told) for one in (known[0], stranger)]
        names = {one.name for one in known}
        found = {one.name: _identify(gallery, one, names, told) for one in everybody}
        explained = _explain(gallery, known[0])
    written = reports.save(explained, out / "why")
    written += reports.save(_picture(found, stranger, recordings), out / "who")
    figures = {
        "enrolled": {one.name: len(one.enrolled) for one in known},
        "stranger": stranger.name,
        "threshold": float(told[1]),
        "verified": verified,
        "identified": {who: one.person for who, one in found.items()},
    }
    return figures, [*written, out / GALLERY, out / "recordings"]


def people(recordings):
    """`Person` of the first of the people, in their order."""
    return [
        Person(
            name=f"{recordings.person}-{name}",
            enrolled=_of(name, recordings.enrolled, recordings.enrolled_people),
            new=_of(name, recordings.probes, recordings.probe_people)[0],
        )
        for name in recordings.people[:MOST_PEOPLE]
    ]


def _of(name, recordings, owners):
    return [one for one, owner in zip(recordings, owners, strict=True) if owner == name]


def _write(everybody, takes, out):
    for one in everybody[:-1]:
        for i, recording in enumerate(one.enrolled):
            _demo_files.write(out / ENROLLED / one.name / f"{i:02d}.csv", recording, takes)
    for one in everybody:
        _demo_files.write(out / one.file, one.new, takes)


def _enroll(gallery, known, model):
    for one in known:
        if one.name in gallery.people():  # of an earlier demo
            gallery.remove(one.name)
        _tell("enroll", GALLERY, one.name, f"{ENROLLED}/{one.name}", "--model", model)
        _console.echo(_console.plain(gallery.enroll(one.name, one.enrolled)))


def _calibrate(gallery, known):
    _tell("calibrate", GALLERY, ENROLLED, "--far", f"{FAR:g}")
    recordings = [recording for one in known for recording in one.enrolled]
    owners = [one.name for one in known for _ in one.enrolled]
    try:
        answer = str(gallery.calibrate(recordings, owners, FAR))
    except ValueError as error:
        answer = f"no threshold is set: {_words.replaced(str(error), _words.GALLERY)}"
    _console.echo(_console.plain(answer))


def _verify(gallery, claimed, observed, told):
    _tell("verify", GALLERY, claimed.name, observed.file, *told)
    found = gallery.verify(claimed.name, observed.new, threshold=float(told[1]))
    _answer(found, found.accepted == (observed is claimed))
    return {"claim": claimed.name, "of": observed.name, "accepted": found.accepted}


def _identify(gallery, observed, known, told):
    _tell("identify", GALLERY, observed.file, *told)
    found = gallery.identify(observed.new, threshold=float(told[1]))
    _answer(found, found.person == (observed.name if observed.name in known else None))
    return found


def _explain(gallery, one):
    _tell("explain", GALLERY, one.name, one.file, "--out", "why")
    found = gallery.explain(one.name, one.new)
    _console.echo(_console.plain("\n".join(str(found).splitlines()[:LINES_EXPLAINED])))
    return reports.explanation(found)


def _picture(found, stranger, recordings):
    right = sum(one.person == (None if who == stranger.name else who) for who, one in found.items())
    return reports.identifications(
        {f"{recordings.unit} of {who}": one for who, one in found.items()},
        title=f"{right} of {len(found)} decisions are right: {stranger.name} is not enrolled",
        caption=recordings.source,
    )


def _tell(*words):
    _console.echo(f"[bold]keras-dml {_console.plain(shlex.join(words))}[/bold]")


def _answer(found, is_right):
    _console.echo(f"{_console.plain(found)}: {'right' if is_right else 'wrong'}")
