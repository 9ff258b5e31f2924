"""Compares the false accept rates of new people with the rates that thresholds guarantee.

The script divides people at random into two halves and sets a threshold on one half. The script
compares the false accept rate of the other half with the printed confidence interval.

python -m tests.bench.far_promise --out build/far_promise

The people are walkers (`gait_lda`), walkers with a phone in the pocket (log-Euclidean distances
without training) and callers (`voice_logcov_lda`). No person is in the training data of the models.
The script stores embeddings in `--out`, so that it can continue after an interruption.
`KERAS_DML_DATA` is the folder of the recordings.
"""

import dataclasses
import functools
import hashlib
import pathlib
import tempfile
from collections.abc import Callable
from typing import Annotated

import numpy as np
import typer
from scipy.stats import binom

from keras_dml import evaluation, inference, scoring, zoo
from keras_dml._files import staged
from keras_dml.gallery.boundary import compute_boundary
from keras_dml.gallery.calibration import everybodys_claims
from keras_dml.gallery.keras_model import KerasModel
from keras_dml.training import People
from tests.bench import smoke as smoke_run
from zoo import gait, phone, phone_baselines, telephone

LEVEL = 0.95  # confidence level of the intervals
LEVEL_OF_TEST = 0.01
# Assumed number of independent splits that give as much information as all splits of the same
# people. The number is an assumption and was not measured.
INDEPENDENT = 20


@dataclasses.dataclass(frozen=True)
class Set:
    """People who are not in the training data of a model.

    Attributes:
        walkers: Function that returns the recordings of the people.
        model: Function from the recordings to a model.
        rate_hz: Sample rate of the recordings.
        probe: Number of time steps to which recordings are cut before they determine a threshold.
            If None, the recordings are not cut.
        window: Number of time steps per window of `listen`.
        windows: Number of windows per claim. Shorter recordings are left out.
        far: False accept rate of the threshold, and the false accept rate that `listen` guarantees.
    """

    walkers: Callable
    model: Callable
    rate_hz: float
    probe: int | None
    window: int
    windows: int
    far: tuple[float, float]


SETS = {
    "gait": Set(
        functools.partial(gait.walks, "test"),
        lambda walkers: zoo.load("gait_lda"),
        100,
        gait.WINDOW,
        128,
        8,
        (0.05, 0.1),
    ),
    "phone": Set(
        phone.walks,
        lambda walkers: phone_baselines.log_euclidean_model(walkers),
        phone.RATE_HZ,
        phone.WINDOW,
        100,
        8,
        (0.1, 0.2),
    ),
    "voice": Set(
        telephone.lines,
        lambda walkers: zoo.load("voice_logcov_lda"),
        16_000,
        None,
        32_000,
        4,
        (0.05, 0.1),
    ),
}


def made_up_walks(people=24, each=3, steps=1024):
    """Draws noise that replaces walks in a smoke run without data. The axes of the sensor are mixed
    differently for each person.
    """
    rng = np.random.default_rng(0)
    mixing = np.eye(6) + 0.5 * rng.normal(size=(people, 6, 6))
    signals = [rng.normal(size=(steps, 6)) @ mixing[i] for i in range(people) for _ in range(each)]
    signals = [signal * [0.3, 0.3, 0.3, 60, 60, 60] for signal in signals]  # units: g and deg/s
    names = [f"person {i}" for i in range(people) for _ in range(each)]
    return People(signals, names, [i % each for i in range(len(names))])


SMOKE = {
    "made up": dataclasses.replace(SETS["gait"], walkers=made_up_walks, far=(0.3, 0.4)),
}


def embedded(model, name, signals, folder):
    """Reads embeddings from their file, or computes them if the file does not exist.

    Args:
        model: `KerasModel`.
        name: Beginning of the file name.
        signals: Recordings.
        folder: Folder of the file.
    """
    steps = [len(signal) for signal in signals]
    digest = hashlib.sha256(f"{model.fingerprint} {steps}".encode()).hexdigest()[:12]
    path = folder / f"{name}_{digest}.npy"
    if not path.exists():
        with staged(path) as part, part.open("wb") as file:
            np.save(file, inference.embed(model.model, signals))
    return np.load(path)


def of_thresholds(name, chosen, folder):
    """Makes imposter claims in the same way as `Gallery.calibrate`.

    Returns:
        Scores, the people who made the recordings, and the claimed people.
    """
    walkers = chosen.walkers()
    model = KerasModel(chosen.model(walkers))
    if chosen.probe is not None:
        walkers = walkers.windows(chosen.probe)
    z = embedded(model, f"{name}_probes", walkers.signals, folder)
    scores, probes, claims = everybodys_claims(
        model, scoring.get("nearest"), z, np.array(walkers.subjects)
    )
    is_imposter = probes != claims
    return scores[is_imposter], probes[is_imposter], claims[is_imposter]


def of_listening(name, chosen, folder):
    """Makes all claims in the same way as `Gallery.calibrate_listening`.

    Returns:
        A tuple: the scores of the windows, shape `(claims, windows)`, the people who made the
        recordings, and the claimed people.
    """
    long = chosen.walkers().at_least(chosen.window * chosen.windows, 2)
    model = KerasModel(chosen.model(chosen.walkers()))
    cut = [signal[: chosen.window * chosen.windows] for signal in long.signals]
    parts = [part for signal in cut for part in np.split(signal, chosen.windows)]
    whole = embedded(model, f"{name}_recordings", long.signals, folder)
    windows = embedded(model, f"{name}_windows", parts, folder)
    subjects, scores = np.array(long.subjects), []
    distances = model.distances(windows, whole).reshape(len(whole), chosen.windows, len(whole))
    distances[np.arange(len(whole)), :, np.arange(len(whole))] = np.inf
    names = np.unique(subjects)
    scores = np.stack([distances[:, :, subjects == item].min(axis=2) for item in names], axis=1)
    probes, claims = np.broadcast_arrays(subjects[:, None], names)
    scores = scores.reshape(-1, chosen.windows).astype(np.float64)
    return scores, probes.ravel(), claims.ravel()


def halves(names, splits, seed):
    """Yields pairs of random halves of people: one half for the threshold and one for the test."""
    rng = np.random.default_rng(seed)
    for _ in range(splits):
        drawn = rng.permutation(names)
        yield drawn[: len(names) // 2], drawn[len(names) // 2 :]


def among(trials, people):
    """Selects the trials in which the claimant and the claimed person are among `people`."""
    scores, probes, claims = trials
    rows = np.isin(probes, people) & np.isin(claims, people)
    return scores[rows], probes[rows], claims[rows]


def threshold_keeps(trials, far, splits, seed):
    """Computes the intervals of `evaluation.certificate` on one half of the people, and the false
    accept rates on the other half.

    Splits for which `evaluation.certificate` raises an error are left out of the result.
    """
    result = []
    for calibrating, tested in halves(np.unique(trials[1]), splits, seed):
        scores, *people = among(trials, calibrating)
        try:
            certificate = evaluation.certificate(scores, people, far)
        except ValueError:
            continue
        scores, *people = among(trials, tested)
        rate = evaluation.false_accepts(scores, people, certificate.threshold).rate
        result.append((rate, *certificate.ci95))
    return np.array(result).reshape(-1, 3)


def accepted(found, scores):
    """Returns whether `listen` accepts each claim, and the number of windows until the decision."""
    heard = np.arange(1, scores.shape[1] + 1)
    mean = np.cumsum(scores, axis=1) / heard
    limits = np.array([found.limits(k) for k in heard])
    least = np.minimum.accumulate(scores, axis=1)
    accepts, rejects = least <= limits[:, 0], mean > limits[:, 1]
    rejects[:, -1] = True
    first = (accepts | rejects).argmax(axis=1)
    return accepts[np.arange(len(first)), first], first + 1


def listening_keeps(trials, chosen, splits, seed):
    """Computes false accept rates of `listen`. The threshold comes from one half of the people, and
    the rate from the other half.

    The result also contains the intervals of these rates, the true accept rates, and the median
    numbers of time steps until a claim is accepted.
    """
    result = []
    for calibrating, tested in halves(np.unique(trials[1]), splits, seed):
        certificate = compute_boundary(*among(trials, calibrating), chosen.far[1], chosen.window)
        scores, probes, claims = among(trials, tested)
        answers, windows = accepted(certificate, scores)
        is_imposter, is_genuine = (
            probes != claims,
            (probes == claims) & np.isfinite(scores).all(axis=1),
        )
        people = probes[is_imposter], claims[is_imposter]
        rate = evaluation.false_accepts(-answers[is_imposter].astype(float), people, -0.5).rate
        steps = chosen.window * windows[is_genuine & answers]
        median = np.median(steps) if len(steps) else np.nan
        result.append((rate, *certificate.far_ci95, answers[is_genuine].mean(), median))
    return np.array(result)


def least_kept(splits):
    """Returns how small the fraction of rates inside their intervals may be if the coverage is
    `LEVEL`.

    This fraction is the 1 % quantile of a binomial distribution of at most `INDEPENDENT` splits.

    Args:
        splits: Number of splits.
    """
    worth = min(splits, INDEPENDENT)
    return binom.ppf(LEVEL_OF_TEST, worth, LEVEL) / worth


def verdict(inside, splits):
    """Formats the conclusion that follows from the number of splits whose rate is inside the
    interval.

    Args:
        inside: Number of splits in which the rate of the test half is inside the interval.
        splits: Number of splits.
    """
    least = least_kept(splits)
    word = "kept" if inside >= least * splits else "NOT KEPT"
    return f"{word}: 95 % is refuted below {100 * least:.0f} %"


def rates_text(rates):
    """Formats false accept rates, and the number of rates that are inside their confidence
    intervals.

    All splits have the same people, so the splits are not independent. A binomial test at a level
    of 1 % therefore counts all splits as only `INDEPENDENT` splits (see `least_kept`). The word
    "kept" means that the test does not reject a coverage of 95 %. This result does not prove that
    the coverage is 95 %.
    """
    rate, low, high = rates[:, :3].T
    inside = int(((low <= rate) & (rate <= high)).sum())
    return (
        f"others' FAR inside the interval in {inside} of {len(rates)} splits "
        f"({100 * inside / len(rates):.1f} %, {verdict(inside, len(rates))}); mean "
        f"{100 * rate.mean():.2f} %, median interval {100 * np.median(low):.2g} to "
        f"{100 * np.median(high):.2g} %"
    )


def main(
    out: Annotated[pathlib.Path, typer.Option(help="Folder of the embeddings.")] = pathlib.Path(
        "build/far_promise"
    ),
    only: Annotated[list[str] | None, typer.Option(help="Sets, instead of all.")] = None,
    splits: Annotated[int, typer.Option(help="Random splits of the people.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the splits.")] = 0,
    smoke: Annotated[bool, typer.Option("--smoke", help=smoke_run.HELP)] = False,
):
    """Prints how often the false accept rate of new people is inside the printed interval."""
    if smoke:
        with tempfile.TemporaryDirectory() as folder:
            measure(SMOKE, pathlib.Path(folder), 2, seed)
        return
    out.mkdir(parents=True, exist_ok=True)
    measure({name: SETS[name] for name in only or SETS}, out, splits, seed)


def measure(sets, out, splits, seed):
    """Prints two lines of results for each set of people.

    Args:
        sets: Dict from names to `Set`.
        out: Folder in which the embeddings are stored.
        splits: Number of random splits of the people.
        seed: Seed of the splits.
    """
    for name, settings in sets.items():
        trials = of_thresholds(name, settings, out)
        people = len(np.unique(trials[1]))
        rates = threshold_keeps(trials, settings.far[0], splits, seed)
        print(
            f"{name}, calibrate, {people // 2} of {people} people, "
            f"FAR {100 * settings.far[0]:g} %: {rates_text(rates)}; "
            f"{splits - len(rates)} splits refused",
            flush=True,
        )
        trials = of_listening(name, settings, out)
        people = len(np.unique(trials[1]))
        rates = listening_keeps(trials, settings, splits, seed)
        count = int((rates[:, 0] <= settings.far[1]).sum())
        print(
            f"{name}, listen, {people // 2} of {people} people, FAR at most "
            f"{100 * settings.far[1]:g} %: {rates_text(rates)}; at most what was promised in "
            f"{count} of {splits}; TAR {100 * rates[:, 3].mean():.1f} %, accepted after "
            f"{np.nanmedian(rates[:, 4]) / settings.rate_hz:.3g} s",
            flush=True,
        )


if __name__ == "__main__":
    typer.run(main)
