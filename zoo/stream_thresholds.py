"""Measures thresholds for files of streams, and compares them with the thresholds of windows.

In a stream, the convolutions of a model see the steps before a window. The embedding therefore
differs from the embedding of the window alone, and needs other thresholds. The trials and the
people are those on the card. Only the embeddings differ.

Run `python -m zoo.stream_thresholds gait_qp_wl` from the checkout. The thresholds become the entry
`stream_thresholds` of the card.
"""

import collections
import dataclasses
import functools
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer

from keras_dml import evaluation, inference, training
from keras_dml.export import streaming
from keras_dml.training import People, measure, pooled, trials
from keras_dml.training.trials import Trials
from zoo import across_films, evidence, eyes, gait

BATCH = 32
EYE_WINDOW = 2352  # multiple of 8 steps, because the model averages groups of 8 steps


@dataclasses.dataclass(frozen=True)
class Measured:
    """Trials of windows and of streams with the same probes and the same enrolled people.

    Attributes:
        window: Number of steps of a window.
        windows: `Trials` whose embeddings are the embeddings of windows.
        streams: `Trials` whose embeddings are read from streams.
        rows: Thresholds of streams, as for the entry `stream_thresholds` of a card.
    """

    window: int
    windows: Trials
    streams: Trials
    rows: list[dict[str, Any]]


def contexts(people: People, window: int) -> People:
    """Cuts recordings at the end of each window, so that a recording begins before its last window.

    Args:
        people: Whole recordings.
        window: Number of steps of a window.

    Returns:
        One recording for each window of `people.windows(window)`, in the same order.
    """
    cut = People([], [], [])
    for signal, subject, session in zip(
        people.signals, people.subjects, people.sessions, strict=True
    ):
        parts = [signal[:stop] for stop in range(window, len(signal) + 1, window)]
        cut += People(parts, [subject] * len(parts), [session] * len(parts))
    return cut


def embed(model, signals: list[np.ndarray], window: int) -> np.ndarray:
    """Computes the embeddings that a stream has at the end of recordings.

    Args:
        model: A `keras.Model`.
        signals: Recordings, such as `contexts` returns them.
        window: Number of steps of a window.
    """
    rows = collections.defaultdict(list)
    for i, signal in enumerate(signals):
        rows[len(signal)].append(i)
    embeddings = {}
    for same_length in rows.values():
        for start in range(0, len(same_length), BATCH):
            batch = same_length[start : start + BATCH]
            z = streaming.by_keras(model, np.stack([signals[i] for i in batch]), window)
            embeddings |= dict(zip(batch, z, strict=True))
    return np.stack([embeddings[i] for i in range(len(signals))])


def between(model, window: int) -> Callable[[list[np.ndarray]], np.ndarray]:
    """Returns a function that computes the distances between the embeddings of streams."""

    def compared(signals):
        z = embed(model, signals, window)
        return inference.distance(model, z, z)

    return compared


def of_walks(name: str) -> Measured:
    """Measures a model of walks on people who were not used in training."""
    model, walks = evidence.published(name).whole, gait.walks("test")
    windows, streams = walks.windows(gait.WINDOW), contexts(walks, gait.WINDOW)
    z = embed(model, streams.signals, gait.WINDOW)
    claims = trials.from_embeddings(model, z, streams)
    groups = {"people recorded by the same kind of sensor": gait.sensors()}
    rows = pooled.thresholds(claims, groups)
    return Measured(gait.WINDOW, trials.from_model(model, windows), claims, rows)


def of_eyes(name: str) -> Measured:
    """Measures the models of a cross-validation on people who were not used in their training."""
    models, watchers = evidence.published(name), eyes.one_eye()
    windows, streams = watchers.windows(EYE_WINDOW), contexts(watchers, EYE_WINDOW)
    of_windows = [across_films.of_encoder(fold) for fold in models.folds]
    of_streams = [between(fold, EYE_WINDOW) for fold in models.folds]
    claims = across_films.trials_over_folds(streams, of_streams)
    unit = float(measure.distance_unit(between(models.whole, EYE_WINDOW), streams))
    words = evidence.CARRIED.format(unit=claims.unit)
    rows = pooled.carried_thresholds(claims, unit, 0.0, words)
    return Measured(EYE_WINDOW, across_films.trials_over_folds(windows, of_windows), claims, rows)


MODELS = {"eye_qp_wl": of_eyes, "gait_qp_wl": of_walks}
Names = Annotated[
    list[str] | None, typer.Argument(help=f"Models: {', '.join(MODELS)}. Default: both models.")
]


@functools.cache
def of_published(name: str) -> Measured:
    """Measures a published model. The result is cached."""
    return MODELS[name](name)


def main(names: Names = None):
    """Measures thresholds of streams, and writes them into the cards."""
    for name in names or MODELS:
        measured = of_published(name)
        rows = [{**row, "window": measured.window} for row in measured.rows]
        training.update(evidence.folder(name), stream_thresholds=rows)
        print(f"{name}, {measured.window} steps")
        print("\n".join(comparison(measured)), flush=True)


def comparison(measured: Measured) -> list[str]:
    """Returns lines that compare windows with streams, as a table in Markdown."""
    lines = ["| embeddings | threshold for | FAR, % | TAR, % |", "| --- | --- | --- | --- |"]
    for words, claims in (("windows", measured.windows), ("streams", measured.streams)):
        result = evaluation.verification(
            claims.scores, claims.genuine, people=claims.people, bootstrap=pooled.BOOTSTRAP
        )
        low, high = result.intervals["eer"]
        eer = f"EER {100 * result.eer:.2f} [{100 * low:.2f} to {100 * high:.2f}]"
        lines.append(f"| {words} | {eer} | | |")
    for far in (row["far"] for row in measured.rows):
        by_windows, by_streams = (
            evaluation.threshold_at_far(claims.scores, claims.genuine, far).value
            for claims in (measured.windows, measured.streams)
        )
        for words, claims, threshold, source in (
            ("windows", measured.windows, by_windows, "windows"),
            ("streams", measured.streams, by_windows, "windows"),
            ("streams", measured.streams, by_streams, "streams"),
        ):
            rates = evaluation.accept_rates(
                claims.scores, claims.genuine, threshold, people=claims.people
            )
            lines.append(
                f"| {words} | {source}, FAR {100 * far:g} % | "
                f"{_with_interval(rates.far, rates.far_ci95)} | "
                f"{_with_interval(rates.tar, rates.tar_ci95)} |"
            )
    return lines


def _with_interval(value, interval):
    low, high = interval
    return f"{100 * value:.2f} [{100 * low:.2f} to {100 * high:.2f}]"


if __name__ == "__main__":
    typer.run(main)
