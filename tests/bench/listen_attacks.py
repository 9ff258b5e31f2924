"""Measures false accept rates of `listen` for imposters who repeat, select or change windows.

python -m tests.bench.listen_attacks --out build/listen_attacks

The script randomly draws people who are not in the training data. The decision threshold of
`listen` is computed from the recordings of some people. The other people falsely claim to be one
another. Each claim is made in several ways, from the unchanged recording to an endless repetition
of the best window. The script applies the current rule and the rule of earlier versions, which
compared the mean score with the threshold. The script computes the scores of windows once and
stores these scores in the folder `--out`. `KERAS_DML_DATA` is the folder of the recordings.
"""

import dataclasses
import pathlib
import tempfile
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation, inference
from keras_dml._files import staged
from keras_dml.gallery.boundary import compute_boundary
from keras_dml.gallery.keras_model import KerasModel
from tests.bench import far_promise
from tests.bench import smoke as smoke_run

RECORDINGS = 6  # largest number of recordings per person
STARTS = 2  # possible starts per window length, for imposters who choose the start
COPIES = 3  # number of changed copies of each window
SETS = {
    "gait": dataclasses.replace(far_promise.SETS["gait"], far=(0.1, 0.3)),
    "phone": dataclasses.replace(far_promise.SETS["phone"], far=(0.1, 0.3)),
}
SMOKE = {"made up": dataclasses.replace(far_promise.SMOKE["made up"], far=(0.3,))}
CHANGES = {
    "noise of 2 %": lambda window, rng: _with_noise(window, 0.02, rng),
    "gain of 3 %": lambda window, rng: window * rng.uniform(0.97, 1.03),
    "noise of 10 %": lambda window, rng: _with_noise(window, 0.1, rng),
}


def _with_noise(window, fraction, rng):
    return window + fraction * window.std(axis=0) * rng.normal(size=window.shape)


def chosen_recordings(people, steps):
    """Selects at most `RECORDINGS` recordings per person, and cuts them to a number of steps."""
    long = people.at_least(steps, 2)
    subjects = np.array(long.subjects)
    rows = [np.flatnonzero(subjects == name)[:RECORDINGS] for name in np.unique(subjects)]
    rows = np.concatenate(rows)
    return [long.signals[row][:steps] for row in rows], subjects[rows]


def scores_of(chosen):
    """Computes the scores of windows for each person. All other recordings of the person are
    enrolled.

    Args:
        chosen: `far_promise.Set`.

    Returns:
        Dict of arrays. `owner` is the number of the person of each recording. Scores have the shape
        `(recordings, windows, people)`, and scores of changed copies have the shape `(recordings,
        windows, copies, people)`.
    """
    everybody, size = chosen.walkers(), chosen.window
    model = KerasModel(chosen.model(everybody))
    signals, subjects = chosen_recordings(everybody, size * chosen.windows)
    enrolled = inference.embed(model.model, signals)
    names, owner = np.unique(subjects, return_inverse=True)

    def scored(parts):
        flat = [np.asarray(part, np.float32) for parts_of_one in parts for part in parts_of_one]
        distances = model.distances(inference.embed(model.model, flat), enrolled)
        distances = distances.reshape(len(signals), -1, len(signals))
        distances[np.arange(len(signals)), :, np.arange(len(signals))] = np.inf
        nearest = [distances[:, :, owner == code].min(axis=2) for code in range(len(names))]
        return np.stack(nearest, axis=2)

    rng, last = np.random.default_rng(0), size * (chosen.windows - 1)
    windows = [np.split(signal, chosen.windows) for signal in signals]
    starts = range(0, last + 1, size // STARTS)
    scores = {
        "owner": owner,
        "windows": scored(windows),
        "any start": scored([[s[start : start + size] for start in starts] for s in signals]),
        "reversed": scored([[part[::-1] for part in parts] for parts in windows]),
    }
    for name, change in CHANGES.items():
        copies = [[change(part, rng) for part in parts for _ in range(COPIES)] for parts in windows]
        shape = len(signals), chosen.windows, COPIES, len(names)
        scores[name] = scored(copies).reshape(shape)
    return scores


def stored_scores(name, chosen, folder):
    """Returns the result of `scores_of`. If the file of the result exists, the function reads the
    file.
    """
    path = folder / f"{name}.npz"
    if not path.exists():
        with staged(path) as part, part.open("wb") as file:
            np.savez(file, **scores_of(chosen))
    with np.load(path) as file:
        return dict(file)


def trajectories(scores):
    """Arranges the scores of windows in the order in which `listen` receives them in each attack.

    Args:
        scores: Result of `scores_of`.

    Returns:
        Dict from the name of an attack to an array of shape `(recordings, windows, people)`.
    """
    windows = scores["windows"]
    count, best = windows.shape[1], windows.argmin(axis=1)
    rows, people = np.indices(best.shape)
    of_person = np.empty_like(windows)
    for code in range(windows.shape[2]):
        is_owner = scores["owner"] == code
        choice = np.sort(windows[is_owner].reshape(-1, windows.shape[2]), axis=0)
        of_person[is_owner] = choice[:count]
    result = {
        "honest": windows,
        "best window in a loop": _looped(windows.min(axis=1), count),
        "best of windows with any start in a loop": _looped(scores["any start"].min(axis=1), count),
        "best window first": np.sort(windows, axis=1),
        "best windows of all recordings first": of_person,
        "reversed in time": scores["reversed"][:, ::-1],
    }
    for name in CHANGES:
        copies = scores[name][rows, best, :, people].transpose(
            0, 2, 1
        )  # (recordings, copies, people)
        repeated = copies[:, np.arange(count - 1) % copies.shape[1]]
        result[f"best window in a loop, {name}"] = np.concatenate(
            [windows.min(axis=1, keepdims=True), repeated], axis=1
        )
    return result


def _looped(window_scores, count):
    return np.repeat(window_scores[:, None], count, axis=1)


def claims_among(scores, owner, people, genuine):
    """Returns the scores of claims in a group, and the claimant and the claimed person of each
    claim.

    Args:
        scores: Scores, shape `(recordings, windows, people)`.
        owner: Number of the person of each recording.
        people: Ids of the people in the group, as whole numbers.
        genuine: If True, the function returns genuine claims. If False, the function returns all
            imposter claims.
    """
    rows = np.flatnonzero(np.isin(owner, people))
    probes, claims = np.broadcast_arrays(owner[rows, None], people)
    selected = (probes == claims) == genuine
    scores = scores[rows][:, :, people].transpose(0, 2, 1)[selected].astype(np.float64)
    return scores, probes[selected], claims[selected]


class Earlier:
    """Decision threshold of earlier versions, which used the mean score and the number of windows.

    Args:
        scores: Scores of all claims, shape `(claims, windows)`.
        probes: People who made the recordings of the claims, one per claim.
        claims: Claimed people, one per claim.
        far: False match rate.
    """

    def __init__(self, scores, probes, claims, far):
        false, heard = probes != claims, np.arange(1, scores.shape[1] + 1)
        self._errors = np.sqrt(scores[false].var(axis=1, ddof=1).mean() / heard)
        mean = np.cumsum(scores, axis=1) / heard
        reached = (mean + self._errors).min(axis=1)
        people = probes[false], claims[false]
        self._threshold = evaluation.promise(reached[false], people, far).threshold
        accepted = np.maximum.accumulate(mean + self._errors <= self._threshold, axis=1)
        undecided = np.where(accepted, -np.inf, mean - self._errors)
        self._reject_above = max(self._threshold, undecided[~false].max())

    def accepts(self, scores):
        """Returns True for each claim that is accepted before the rule rejects it."""
        mean = np.cumsum(scores, axis=1) / np.arange(1, scores.shape[1] + 1)
        accepts = mean + self._errors <= self._threshold
        rejects = mean - self._errors > self._reject_above
        rejects[:, -1] = True
        first = (accepts | rejects).argmax(axis=1)
        return accepts[np.arange(len(first)), first]


def rates_of(scores, far, known, draws, seed):
    """Computes accept rates for random draws of people.

    Args:
        scores: Result of `scores_of`.
        far: Guaranteed false match rate.
        known: Number of people whose recordings determine the decision threshold.
        draws: Number of draws.
        seed: Seed of the draws.

    Returns:
        Dict from the name of an attack, or from "genuine", to an array of shape `(draws, 2)`. The
        two columns are the rates of the earlier rule and of the current rule.
    """
    owner, ways, rng = scores["owner"], trajectories(scores), np.random.default_rng(seed)
    rates = {name: [] for name in [*ways, "genuine"]}
    for _ in range(draws):
        drawn = rng.permutation(owner.max() + 1)
        volunteers, imposters = drawn[:known], drawn[known:]
        false = claims_among(scores["windows"], owner, volunteers, False)
        is_owner = claims_among(scores["windows"], owner, volunteers, True)
        every = [np.concatenate(pair) for pair in zip(false, is_owner, strict=True)]
        now = compute_boundary(*every, far, 1)
        before = Earlier(*every, far)
        for name, way in ways.items():
            heard, *people = claims_among(way, owner, imposters, False)
            answers = before.accepts(heard), far_promise.accepted(now, heard)[0]
            rates[name].append([_mean_of_pairs(answer, people) for answer in answers])
        heard, *_ = claims_among(scores["windows"], owner, imposters, True)
        answers = before.accepts(heard), far_promise.accepted(now, heard)[0]
        rates["genuine"].append([answer.mean() for answer in answers])
    return {name: np.array(pairs) for name, pairs in rates.items()}


def _mean_of_pairs(accepted, people):
    """Returns the fraction of accepted claims, averaged over pairs of people."""
    probes, claims = people
    _, pairs = np.unique(probes * (claims.max() + 1) + claims, return_inverse=True)
    return (np.bincount(pairs, accepted) / np.bincount(pairs)).mean()


def in_words(rates):
    """Formats the mean of the rates and the range that contains 95 % of the draws."""
    low, high = 100 * np.quantile(rates, [0.025, 0.975])
    return f"{100 * rates.mean():.1f} % [{low:.1f} to {high:.1f}]"


def main(
    out: Annotated[pathlib.Path, typer.Option(help="Folder of the scores.")] = pathlib.Path(
        "build/listen_attacks"
    ),
    only: Annotated[list[str] | None, typer.Option(help="Populations, instead of all.")] = None,
    draws: Annotated[int, typer.Option(help="Draws of people.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
    smoke: Annotated[bool, typer.Option("--smoke", help=smoke_run.HELP)] = False,
):
    """Prints a table of false accept rates for each population and guaranteed rate."""
    if smoke:
        with tempfile.TemporaryDirectory() as folder:
            measure(SMOKE, pathlib.Path(folder), 2, seed)
        return
    out.mkdir(parents=True, exist_ok=True)
    measure({name: SETS[name] for name in only or SETS}, out, draws, seed)


def measure(sets, out, draws, seed):
    """Prints a table for each population and guaranteed rate.

    Args:
        sets: Dict from names to `far_promise.Set`.
        out: Folder in which the scores are stored.
        draws: Number of draws of people.
        seed: Seed of the draws.
    """
    for name, selected in sets.items():
        scores = stored_scores(name, selected, out)
        people = int(scores["owner"].max()) + 1
        for far in selected.far:
            print(f"\n{name}, {people // 2} of {people} people set the boundary, {draws} draws")
            print("| claims | promise | accepted before | accepted now |\n|---|---|---|---|")
            rates = rates_of(scores, far, people // 2, draws, seed)
            for way, pairs in rates.items():
                promise = "" if way == "genuine" else f"{100 * far:g} %"
                before, now = map(in_words, pairs.T)
                print(f"| {way} | {promise} | {before} | {now} |", flush=True)


if __name__ == "__main__":
    typer.run(main)
