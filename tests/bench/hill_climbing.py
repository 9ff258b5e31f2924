"""Measures how often attacks by hill climbing turn a rejected recording into an accepted one.

python -m tests.bench.hill_climbing
python -m tests.bench.hill_climbing --rest

By default, the script attacks `Gallery.verify` in the same process. Speakers who are not in the
training data of `vowels_qp_wl` are enrolled with their earlier utterances. Rejected later
utterances claim to be from another speaker. An evolution strategy with one parent and one child
(step size by the 1/5 success rule, Rechenberg 1973) changes each utterance, guided by the score.
The table compares attacks without a limit of tries and with the default limit. For the default
limit, the table has two rows: in one the attacker does not wait, and in the other the attacker
waits for the end of each pause. The clock is simulated. With `--rest` the script attacks a server
over HTTP. A server that runs without `--scores` sends no score. A server that runs with `--scores`
sends a score from 0 to 100 ("closeness").
"""

import argparse
import contextlib
import http.client
import json
import pathlib
import tempfile
import time
from typing import NamedTuple
from unittest import mock

import numpy as np

from keras_dml.gallery import Gallery, TooManyTries, Tries
from keras_dml.gallery import tries as tries_module
from keras_dml.gallery.server import app, settings, tokens
from tests import speakers
from tests.bench import smoke
from tests.gallery import stub_server

FAR = 0.01  # false accept rate of the card's threshold
ENROLLED = 8  # utterances of each speaker
QUERIES, RECORDINGS = 2000, 27
SMOKE = {"QUERIES": 12, "RECORDINGS": 1}
FIRST_STEP = 0.05  # fraction of the standard deviation of a channel
LONGER, SHORTER = 1.5, 0.9  # with one success in five tries, the step size stays about the same


class Clock:
    """Clock that moves only if the attacker waits."""

    def __init__(self):
        self.now = time.time()

    def time(self):
        return self.now


class Attempt(NamedTuple):
    """Outcome of the attack with one rejected recording.

    Attributes:
        accepted: Whether the recording was accepted in the end.
        queries: Number of claims until the end of the attack.
        answered: Number of claims that were not refused because of a pause.
        seconds: Time that the attacker waited.
    """

    accepted: bool
    queries: int
    answered: int
    seconds: float


def rejected_claims(gallery, later, count, rng):
    """Returns `(person, recording)` of imposter claims that the threshold rejects."""
    claims = [
        (person, recording)
        for person in later
        for name, recordings in later.items()
        if name != person
        for recording in recordings
    ]
    rejected = []
    for i in rng.permutation(len(claims)):
        if not gallery.verify(*claims[i], far=FAR).accepted:
            rejected.append(claims[i])
            if len(rejected) == count:
                return rejected
    raise ValueError(f"Only {len(rejected)} of {len(claims)} claims are rejected.")


def by_python(gallery, client):
    """Returns a function that makes a claim in a gallery and returns `(accepted, score)`."""

    def ask(person, recording):
        answer = gallery.verify(person, recording, far=FAR, client=client)
        return answer.accepted, answer.score

    return ask


def by_rest(address, token):
    """Returns a function that makes a claim at a server and returns `(accepted, score)`.

    The score is None if the server sends no score.
    """

    def ask(person, recording):
        body = json.dumps({"recordings": [recording.tolist()], "far": FAR})
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with contextlib.closing(http.client.HTTPConnection(*address, timeout=600)) as connection:
            connection.request("POST", f"/people/{person}/verify", body, headers)
            response = connection.getresponse()
            answer = json.load(response)
        if response.status == 429:
            raise TooManyTries(float(response.headers["Retry-After"]))
        if response.status != 200:
            raise RuntimeError(f"status {response.status}: {answer}")
        closeness = answer["closeness"]
        return answer["accepted"], None if closeness is None else 100 - closeness

    return ask


def attack(ask, person, recording, clock, waits, rng):
    """Changes a recording step by step until it is accepted, and returns the `Attempt`.

    Args:
        ask: Function that makes a claim and returns the tuple `(accepted, score)`. The score is
            None if the server sends no score.
        person: Claimed person.
        recording: Rejected recording.
        clock: `Clock`.
        waits: Whether the attacker waits for the end of each pause.
        rng: NumPy random generator.
    """
    spread, step = recording.std(axis=0), FIRST_STEP
    parent, least, answered, begin = recording, np.inf, 0, clock.now
    for query in range(1, QUERIES + 1):
        child = parent + step * spread * rng.normal(size=recording.shape)
        try:
            accepted, score = ask(person, child)
        except TooManyTries as error:
            if waits:
                clock.now += error.seconds
            continue
        answered += 1
        if accepted:
            return Attempt(True, query, answered, clock.now - begin)
        if score is None:
            continue  # without a score, nothing guides the search
        if score < least:
            parent, least, step = child, score, step * LONGER
        else:
            step *= SHORTER
    return Attempt(False, QUERIES, answered, clock.now - begin)


def show(name, attempts):
    """Prints a row of the table."""
    accepted = [attempt for attempt in attempts if attempt.accepted]
    queries = f"{np.median([each.queries for each in accepted]):.0f}" if accepted else "–"
    answered = np.median([attempt.answered for attempt in attempts])
    hours = np.median([attempt.seconds for attempt in attempts]) / 3600
    print(
        f"| {name} | {len(accepted)} of {len(attempts)} | {queries} | {answered:.0f} "
        f"| {hours:,.0f} |",
        flush=True,
    )


def attack_python(path, claims, clock, seed):
    """Attacks `Gallery.verify`."""
    rows = (
        ("none (`tries=None`)", None, False),
        ("default, does not wait", Tries(), False),
        ("default, waits for each pause", Tries(), True),
    )
    for name, tries, waits in rows:
        with Gallery(path, speakers.MODEL, tries=tries) as gallery:
            rng = np.random.default_rng(seed + 1)
            attempts = []
            for i, (person, recording) in enumerate(claims):
                ask = by_python(gallery, f"{name} {i}")  # each recording begins with free tries
                attempts.append(attack(ask, person, recording, clock, waits, rng))
        show(name, attempts)


def attack_rest(path, claims, clock, seed):
    """Attacks a server with the default limit of tries."""
    rows = (
        ("REST, no score, does not wait", False, False),
        ("REST, no score, waits for each pause", False, True),
        ("REST, `--scores`, waits for each pause", True, True),
    )
    for row, (name, scores, waits) in enumerate(rows):
        # The server limits the tries per token. Each recording begins with a new token, so it has
        # no earlier tries.
        clients = [f"token-{row}-{i:016}" for i in range(len(claims))]
        allowed = tokens.Tokens(verify=[token.encode() for token in clients])
        options = settings.Settings(scores=scores, tokens=allowed)
        rng = np.random.default_rng(seed + 1)
        attempts = []
        with (
            Gallery(path, speakers.MODEL) as gallery,
            stub_server.serving(app.application(gallery, options)) as address,
        ):
            for token, (person, recording) in zip(clients, claims, strict=True):
                ask = by_rest(address, token)
                attempts.append(attack(ask, person, recording, clock, waits, rng))
        show(name, attempts)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--rest", action="store_true", help="attack a server by HTTP instead")
    arguments = smoke.parse(options, globals(), SMOKE)
    earlier, later = speakers.unseen()
    clock = Clock()
    with mock.patch.object(tries_module, "time", clock), tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "family.db")
        with Gallery(path, speakers.MODEL, tries=None) as gallery:
            for person, recordings in earlier.items():
                gallery.enroll(person, recordings[:ENROLLED])
            rng = np.random.default_rng(arguments.seed)
            claims = rejected_claims(gallery, later, RECORDINGS, rng)
        print(
            f"{len(earlier)} speakers, {len(claims)} rejected recordings, at most {QUERIES:,} "
            f"queries each, FAR {100 * FAR:g} % of the card\n\n"
            "| limit of tries | accepted | queries, median | answered, median | hours waited, "
            "median |\n|---|---|---|---|---|"
        )
        if not arguments.rest:
            attack_python(path, claims, clock, arguments.seed)
        if arguments.rest or arguments.smoke:
            attack_rest(path, claims, clock, arguments.seed)


if __name__ == "__main__":
    main()
