"""Measures on several sets of channels how well methods without a network recognize people by their
eye movements.

The methods without a network are baselines on the cards of `eye_qp_wl` and `eye_lda`. The module
also measures these methods at lower sampling rates, on shorter windows, on films that were not used
in training, on one of the two eyes, and on the pupils alone. `python -m zoo.eye_baselines` writes
`zoo/eye_lda/figures/channels.csv`.
"""

import pathlib

import numpy as np
import typer
from scipy.spatial.distance import cdist
from sklearn.preprocessing import StandardScaler

from keras_dml import inference
from keras_dml._backend import ops
from keras_dml._files import write_text
from keras_dml.layers import LaggedCorrelation
from keras_dml.training import People, discriminants, fronts, pooled
from zoo import across_films, baselines, eyes, gait
from zoo.compare import as_csv
from zoo.eye_lda import train as lda

LAGS, BOTH_LAGS = (0, 1, 2, 4, 8, 16, 32), (0, 1, 2, 4)  # steps
DISCRIMINANTS = 24
LIMIT = 2.0  # of a discriminant, as in `keras_dml.layers.LinearDiscriminants`
SPEED_LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
BATCH = 128
PUPILS, DISPARITY = ("left pupil", "right pupil"), ("disparity x", "disparity y")
FIGURES = pathlib.Path(__file__).parent / "eye_lda" / "figures" / "channels.csv"


def bounded(watchers):
    """Computes the slow and the fast velocities in all recordings, see `eyes.slow_and_fast`."""
    signals = fronts.outputs([eyes.slow_and_fast], watchers.signals)
    return People(signals, watchers.subjects, watchers.sessions)


def quantile_distance(known):
    """Returns the L1 distance between quantiles of log velocities, without training.

    The quantiles are divided by the standard deviations of the training windows.

    Args:
        known: Windows of the training people.

    Returns:
        Function that computes the distances between all recordings of a list.
    """

    def features(signals):
        logs = [np.quantile(np.log1p(np.abs(x)), SPEED_LEVELS, axis=0).ravel() for x in signals]
        return np.array(logs)

    scaler = StandardScaler().fit(features(known.signals))

    def between(signals):
        scaled = scaler.transform(features(signals))
        return cdist(scaled, scaled, "cityblock")

    return between


def log_euclidean(known):
    """Returns the log-Euclidean distance between covariances of the channels, without training.

    Arguments and result are the same as in `quantile_distance`.
    """
    model = gait.log_euclidean(known.signals)

    def between(signals):
        return baselines.euclidean(inference.embed(model, signals, progress=False))

    return between


def discriminant_distance(known, lags):
    """Returns a function for the cosine distance between linear discriminants. The discriminants
    are computed from moments and lagged correlations.

    The discriminants are fitted in closed form to windows of training people. Arguments and result
    are the same as in `quantile_distance`.
    """
    steps = np.concatenate(known.signals)
    mean, stddev = steps.mean(axis=0), np.maximum(steps.std(axis=0), 1e-6)
    correlate = LaggedCorrelation(lags)

    def features(signals):
        scaled = np.stack([(x - mean) / stddev for x in signals]).astype(np.float32)
        parts = [
            ops.convert_to_numpy(correlate(scaled[i : i + BATCH]))
            for i in range(0, len(scaled), BATCH)
        ]
        return np.concatenate([np.concatenate(parts), scaled.mean(axis=1)], axis=1)

    moments = features(known.signals)
    count = min(DISCRIMINANTS, moments.shape[1], len(set(known.subjects)) - 1)
    analysis = discriminants.discriminant_analysis(moments, known.subjects, count, StandardScaler())

    def between(signals):
        moments = LIMIT * np.tanh(analysis.transform(features(signals)) / LIMIT)
        return cdist(moments, moments, "cosine")

    return between


def by_fold(closed_form, windows, everybody=None):
    """Returns one distance function per fold. Each function is fitted in closed form to the people
    outside of the fold.

    Args:
        closed_form: `quantile_distance` or another function with the same arguments and result.
        windows: Windows of the tested people.
        everybody: Windows of all people. The closed form is fitted to those people who are outside
            of the fold. Default: `windows`.
    """
    everybody = windows if everybody is None else everybody
    return [closed_form(everybody.without(fold)) for fold in across_films.groups(windows)]


def untrained(windows):
    """Computes the baselines of a card that need no training, on windows of one eye.

    See `zoo.evidence.Evidence`.
    """
    what = "quantiles of horizontal and vertical log velocities, L1 distance"
    speeds = what, pooled.NO_NETWORK, trials(quantile_distance, windows).scores
    what = "covariance of slow and fast velocities, nothing trained"
    covariances = what, pooled.NO_NETWORK, trials(log_euclidean, bounded(windows)).scores
    return {"quantiles of velocity": speeds, "log-Euclidean": covariances}


def without_network(watchers, windows):
    """Computes the baselines that `untrained` returns, and the baseline `eye_lda`. In each fold,
    `eye_lda` is fitted to the people outside of the fold.
    """
    folds = across_films.groups(windows)
    models = [lda.fitted(watchers.without(fold)) for fold in folds]
    between = [across_films.of_encoder(model) for model in models]
    scores = across_films.trials_over_folds(windows, between).scores
    what = "linear discriminants of means and lagged correlations, fitted to the same people"
    return {"eye_lda": (what, pooled.NO_NETWORK, scores), **untrained(windows)}


def trials(closed_form, windows, everybody=None):
    """Computes the trials of all folds with a distance in closed form, see `by_fold`."""
    return across_films.trials_over_folds(windows, by_fold(closed_form, windows, everybody))


def of_one_eye():
    """Computes trials on GazeCom. Returns `{name: (window in seconds, Trials)}`. Each `name`
    consists of the channels, the rate and the method.
    """
    results = {}
    for blocks in (1, 2, 4, 8):
        watchers = eyes.one_eye(blocks)
        window = eyes.WINDOW // blocks
        windows = bounded(watchers).windows(window)
        rate = f"{eyes.RATE_HZ / blocks:g} Hz"
        seconds = window * blocks / eyes.RATE_HZ
        results[f"discriminants, {rate}"] = seconds, trials(_by_lags(LAGS), windows)
        if blocks == 1:
            raw = watchers.windows(window)
            results[f"quantiles of velocity, {rate}"] = seconds, trials(quantile_distance, raw)
            results[f"log-Euclidean, {rate}"] = seconds, trials(log_euclidean, windows)
            results[f"discriminants, one scale, {rate}"] = seconds, trials(_by_lags(LAGS), raw)
            halves = bounded(watchers).windows(window // 2)
            results[f"discriminants, {rate}, shorter"] = seconds / 2, trials(_by_lags(LAGS), halves)
            films = sorted(set(windows.sessions))[::2]
            seen = np.isin(windows.sessions, films)
            unseen = trials(_by_lags(LAGS), windows.take(~seen), windows.take(seen))
            results[f"discriminants, {rate}, films never trained on"] = seconds, unseen
    return results


def of_both_eyes():
    """Computes trials of the people of DIEM who watched several films. Returns the same data
    structure as `of_one_eye`.
    """
    watchers = eyes.both_eyes()
    everybody = watchers.windows(eyes.BOTH_WINDOW)
    seconds = eyes.BOTH_WINDOW / eyes.BOTH_RATE_HZ
    velocity = [name for name in eyes.BOTH_CHANNELS if name.endswith(("vx", "vy"))]
    selections = {
        "both eyes": eyes.BOTH_CHANNELS,
        "left eye": [name for name in eyes.BOTH_CHANNELS if name.startswith("left")],
        "right eye": [name for name in eyes.BOTH_CHANNELS if name.startswith("right")],
        "both eyes, pupils alone": PUPILS,
        "both eyes, disparity alone": DISPARITY,
        "both eyes, velocities alone": velocity,
        "both eyes without pupils": [
            channel for channel in eyes.BOTH_CHANNELS if channel not in PUPILS
        ],
        "left eye, velocities alone": velocity[:2],
    }
    results = {}
    for name, channels in selections.items():
        columns = np.isin(eyes.BOTH_CHANNELS, channels)
        subset = People(
            [x[:, columns] for x in everybody.signals], everybody.subjects, everybody.sessions
        )
        windows = eyes.of_several_films(subset)
        results[name] = seconds, trials(_by_lags(BOTH_LAGS), windows, subset)
    return results


def within_experiments(given):
    """Selects the trials whose two recordings are from the same experiment of DIEM. All recordings
    of an experiment were made in the same room with the same settings.
    """
    alike = np.array([a[:5] == b[:5] for a, b in zip(given.probes, given.claims, strict=True)])
    names = ("scores", "probes", "claims", "recordings", "enrolled")
    return type(given)(**{name: getattr(given, name)[alike] for name in names})


def table(found):
    """Returns the columns of a table with pooled figures of the trials."""
    columns = {}
    for name, (seconds, claims) in found.items():
        row = {"what": name, "window_s": round(seconds, 2)}
        row |= {"people": len(set(claims.probes.tolist())), "trials": len(claims.scores)}
        for row_of_metric in pooled.rows(claims)[:2]:
            row[row_of_metric["metric"]] = round(row_of_metric["value"], 4)
            row |= {
                f"{row_of_metric['metric']} {end}": round(bound, 4)
                for end, bound in zip(("low", "high"), row_of_metric["ci95"], strict=True)
            }
        for key, value in row.items():
            columns.setdefault(key, []).append(value)
    return columns


def _by_lags(lags):
    return lambda known: discriminant_distance(known, lags)


def main():
    """Measures all baselines and writes their figures as CSV."""
    two_eyes = of_both_eyes()
    seconds, claims = two_eyes["both eyes"]
    two_eyes["both eyes, imposters of the same experiment"] = seconds, within_experiments(claims)
    one_eye = {f"GazeCom: {name}": value for name, value in of_one_eye().items()}
    text = as_csv(table(one_eye | {f"DIEM: {name}": value for name, value in two_eyes.items()}))
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    write_text(FIGURES, text)
    print(f"{text}{FIGURES}")


if __name__ == "__main__":
    typer.run(main)
