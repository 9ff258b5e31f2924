"""Hill climbing against `Gallery.verify`: how many rejected recordings become accepted ones.

python -m tests.bench.hill_climbing

Speakers whom `vowels_qp_wl` has not seen are enrolled with their earlier utterances. Rejected later
utterances claim to be one of the others, and an evolution strategy with one parent and one child
(step size by the rule of success, Rechenberg 1973) changes each of them, guided by the score. The
table compares no limit of tries with the default limit, for an attacker who does not wait and for
one who waits for the end of each pause, by a clock that is set.
"""

import argparse
import pathlib
import tempfile
import time
from typing import NamedTuple
from unittest import mock

import numpy as np

from keras_dml.gallery import Gallery, TooManyTries, Tries
from keras_dml.gallery import tries as tries_module
from tests import speakers
from tests.bench import smoke

FAR = 0.01  # of the card's threshold
ENROLLED = 8  # utterances of each speaker
QUERIES, RECORDINGS = 2000, 27
SMOKE = {"QUERIES": 12, "RECORDINGS": 1}
FIRST_STEP = 0.05  # of the standard deviation of a channel
LONGER, SHORTER = 1.5, 0.9  # about one success in five keeps the step


class Clock:
    """A clock that stands still unless somebody waits."""

    def __init__(self):
        self.now = time.time()

    def time(self):
        return self.now


class Attempt(NamedTuple):
    """What became of a rejected recording.

    Attributes:
        accepted: Whether it was accepted in the end.
        queries: Number of claims until then.
        answered: Number of claims that were not refused because of a pause.
        seconds: Time that was waited.
    """

    accepted: bool
    queries: int
    answered: int
    seconds: float


def rejected_claims(gallery, later, count, rng):
    """Returns `(person, recording)` of claims of others that the threshold rejects."""
    claims = [
        (person, recording)
        for person in later
        for other, recordings in later.items()
        if other != person
        for recording in recordings
    ]
    found = []
    for i in rng.permutation(len(claims)):
        if not gallery.verify(*claims[i], far=FAR).accepted:
            found.append(claims[i])
            if len(found) == count:
                return found
    raise ValueError(f"Only {len(found)} of {len(claims)} claims are rejected.")


def attack(gallery, person, recording, client, clock, waits, rng):
    """Changes a recording step by step until it is accepted as a person's; an `Attempt`."""
    spread, step = recording.std(axis=0), FIRST_STEP
    parent, least, answered, begin = recording, np.inf, 0, clock.now
    for query in range(1, QUERIES + 1):
        child = parent + step * spread * rng.normal(size=recording.shape)
        try:
            answer = gallery.verify(person, child, far=FAR, client=client)
        except TooManyTries as error:
            if waits:
                clock.now += error.seconds
            continue
        answered += 1
        if answer.accepted:
            return Attempt(True, query, answered, clock.now - begin)
        if answer.score < least:
            parent, least, step = child, answer.score, step * LONGER
        else:
            step *= SHORTER
    return Attempt(False, QUERIES, answered, clock.now - begin)


def show(name, attempts):
    """Prints a row of the table."""
    accepted = [one for one in attempts if one.accepted]
    queries = f"{np.median([one.queries for one in accepted]):.0f}" if accepted else "–"
    answered = np.median([one.answered for one in attempts])
    hours = np.median([one.seconds for one in attempts]) / 3600
    print(
        f"| {name} | {len(accepted)} of {len(attempts)} | {queries} | {answered:.0f} "
        f"| {hours:,.0f} |",
        flush=True,
    )


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seed", type=int, default=0)
    given = smoke.parse(options, globals(), SMOKE)
    earlier, later = speakers.unseen()
    clock = Clock()
    with mock.patch.object(tries_module, "time", clock), tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "family.db")
        with Gallery(path, speakers.MODEL, tries=None) as gallery:
            for person, recordings in earlier.items():
                gallery.enroll(person, recordings[:ENROLLED])
            rng = np.random.default_rng(given.seed)
            claims = rejected_claims(gallery, later, RECORDINGS, rng)
        print(
            f"{len(earlier)} speakers, {len(claims)} rejected recordings, at most {QUERIES:,} "
            f"queries each, FAR {100 * FAR:g} % of the card\n\n"
            "| limit of tries | accepted | queries, median | answered, median | hours waited, "
            "median |\n|---|---|---|---|---|"
        )
        rows = (
            ("none (`tries=None`)", None, False),
            ("default, does not wait", Tries(), False),
            ("default, waits for each pause", Tries(), True),
        )
        for name, tries, waits in rows:
            with Gallery(path, speakers.MODEL, tries=tries) as gallery:
                rng = np.random.default_rng(given.seed + 1)
                attempts = []
                for i, (person, recording) in enumerate(claims):
                    client = f"{name} {i}"  # each recording begins with free tries
                    attempts.append(attack(gallery, person, recording, client, clock, waits, rng))
            show(name, attempts)


if __name__ == "__main__":
    main()
