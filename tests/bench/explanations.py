"""Measures whether the moments that an explanation names change the score of a claim.

python -m tests.bench.explanations

The script removes the moments that an explanation names from a walk. The script compares the change
of the score with the change after removing random moments of the same length. The walks are from
people who are not in the training data of `gait_qp_wl`. One recording of each person is used for an
imposter claim and for a genuine claim. The score is the smallest distance to the enrolled
recordings of the claimed person. The explanation is for the distance to the nearest enrolled
recording.
"""

import argparse

import numpy as np

import keras_dml
from keras_dml._backend import ops
from keras_dml.training import People
from tests.bench import smoke
from zoo import gait

FRACTION = 0.2  # fraction of the steps of a probe that are removed
ELSEWHERE = 8  # number of random places
SMOKE = {"pairs": 2, "ELSEWHERE": 2}
CASES = (("imposter", "moments"), ("genuine", "alike"), ("genuine", "moments"))


def masked(model, signal, masks):
    """Computes the embedding of a recording in which some steps are masked, so that they have no
    activation.
    """
    batch, valid = np.stack([signal] * len(masks)).astype(np.float32), ~np.stack(masks)
    return ops.convert_to_numpy(model.call(ops.convert_to_tensor(batch), mask=valid))


def cut(model, signal, masks):
    """Computes the embedding of a recording after removing steps and joining the rest."""
    return keras_dml.embed(model, [signal[~out] for out in masks], progress=False)


def interpolated(model, signal, masks):
    """Computes the embedding of a recording with some steps interpolated."""
    steps = np.arange(len(signal))
    columns = [[np.interp(steps, steps[~out], x[~out]) for x in signal.T] for out in masks]
    return keras_dml.embed(model, [np.transpose(column) for column in columns], progress=False)


NAMES = {"moments": "what keeps apart", "alike": "what makes alike"}
WAYS = {"a mask": masked, "cutting": cut, "interpolation": interpolated}


def named(found, which):
    """Selects time steps of recording `a`. The steps are in the first moments that the explanation
    names.

    Moments are added until the selected steps are at least a fifth of the recording.
    """
    out = np.zeros(len(found.timelines["a"].recording), bool)
    for moment in getattr(found, which):
        if moment.recording == "a" and out.mean() < FRACTION:
            out[moment.start : moment.end] = True
    return out


def claims(walks, kind, rng, count):
    """Yields a recording from the last session of each person, and the enrolled recordings.

    The enrolled recordings are from earlier sessions of the claimed person.
    """
    people, sessions = np.array(walks.subjects), np.array(walks.sessions)
    last = {name: sessions[people == name].max() for name in set(walks.subjects)}
    enrolled = {
        name: np.flatnonzero((people == name) & (sessions < end)) for name, end in last.items()
    }
    names = sorted(name for name, rows in enrolled.items() if len(rows))
    for name in rng.permutation(names)[:count]:
        probe = rng.choice(np.flatnonzero((people == name) & (sessions == last[name])))
        strangers = [second for second in names if second != name]
        claimed = name if kind == "genuine" else rng.choice(strangers)
        yield walks.signals[probe], [walks.signals[row] for row in enrolled[claimed]]


def changes(model, probe, enrolled, which, rng):
    """Computes how much the score changes if spans of time are removed.

    The changes are fractions of the score.

    Returns:
        Dict with an array of changes, shape `(1 + ELSEWHERE,)`, for each way to remove moments. The
        keys are the names of the ways. For the first change, the moments are removed that the
        explanation names.
    """
    stored = keras_dml.embed(model, enrolled, progress=False)
    score = keras_dml.distance(model, keras_dml.embed(model, [probe]), stored)
    out = named(keras_dml.explain(model, probe, enrolled[score.argmin()]), which)
    shifts = rng.integers(1, len(probe), ELSEWHERE)
    masks = [out, *(np.roll(out, shift) for shift in shifts)]
    result = {}
    for name, way in WAYS.items():
        z = way(model, probe, masks)
        result[name] = keras_dml.distance(model, z, stored).min(axis=1) / score.min() - 1
    return result


def made_up_walks(people=4, sessions=2, steps=256):
    """Draws noise that replaces walks in a smoke run without the archive."""
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(people * sessions, steps, 6)) * [1, 1, 1, 200, 200, 200]
    names = [f"person {i}" for i in range(people) for _ in range(sessions)]
    return People(list(signals), names, [i % sessions for i in range(len(names))])


def interval(values, rng):
    """Computes the mean over recordings and its 95 % bootstrap interval. Each recording is from
    another person.
    """
    means = rng.choice(values, (10_000, len(values))).mean(axis=1)
    return values.mean(), *np.quantile(means, [0.025, 0.975])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pairs", type=int, default=40, help="claims of each kind")
    arguments = smoke.parse(options, globals(), SMOKE)
    rng = np.random.default_rng(0)
    model = keras_dml.zoo.load("gait_qp_wl")
    walks = made_up_walks() if arguments.smoke else gait.walks("test").windows(gait.WINDOW)
    print("| claims | taken out | by | change | elsewhere | difference | of absolute changes |")
    print("|---|---|---|---|---|---|---|")
    for kind, which in CASES:
        trials = claims(walks, kind, np.random.default_rng(1), arguments.pairs)
        result = [changes(model, *claim, which, rng) for claim in trials]
        for way in WAYS:
            table = 100 * np.array(
                [item[way] for item in result]
            )  # (claims, 1 + ELSEWHERE), in percent
            cells = [f"{len(result)} {kind}", NAMES[which], way]
            cells += [f"{table[:, 0].mean():+.1f} %", f"{table[:, 1:].mean():+.1f} %"]
            for values in (table, np.abs(table)):
                mean, low, high = interval(values[:, 0] - values[:, 1:].mean(axis=1), rng)
                cells.append(f"{mean:+.1f} % ({low:+.1f} to {high:+.1f})")
            print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
