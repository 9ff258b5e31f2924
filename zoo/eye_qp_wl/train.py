"""Trains `eye_qp_wl` and three other methods, which recognize people by nine seconds of eye
movements.

The model takes slow and fast velocities of one eye, as in Jaeger2019. The model uses the quantile
layer and the Wasserstein loss of Abdelwahab2019. The data contains only forty-five people, so the
figures are cross-validated over folds of people. For each fold, the settings that were best on
another fold are used. The published model is trained on all people. To list the options, run
`python -m zoo.eye_qp_wl.train --help` from the checkout.
"""

import csv
import dataclasses
import functools
import pathlib

import numpy as np
import typer

from keras_dml.training.golden import synthetic_recordings
from zoo import across_films, augment, eyes, nested, recipe, sequences

STEPS = 1500
PAIRS, LENGTH = 24, 1000  # of a batch, and steps of a training window
LEARNING_RATE = 3e-3
GAIN = 0.03  # largest change of a channel's gain between two windows, a fraction
SEARCHED = pathlib.Path(__file__).parent / "figures" / "search.csv"
RIVAL = "qp_npl"  # the method that the card lists

examples, known_recordings = eyes.examples, eyes.known_recordings


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings that `zoo.eye_qp_wl.search` varies.

    Attributes:
        scales: See `zoo.eyes.slow_and_fast`.
        mix: Strength of the mixing of horizontal and vertical velocity, see
            `keras_dml.training.augment.mix_channels`.
        duration: Number of training steps, as a multiple of `--steps`.
        sharpness: Scale of the distances or cosines in the loss, as a multiple of the method's
            default. On walkers the scale of the cosine has a large influence on the result, see
            `gait_qp_wl`.
    """

    scales: tuple = eyes.SCALES
    mix: float = 0.0
    duration: float = 1.0
    sharpness: float = 1.0


# Settings that each variant changes. The search runs the variants in this order.
VARIANTS = {
    "": {},
    "half as long": {"duration": 0.5},
    "channels mixed": {"mix": 0.3},
    "scales 3, 12, 50, 200": {"scales": (3.0, 12.0, 50.0, 200.0)},
    "loss four times as sharp": {"sharpness": 4.0},
}


def vary(batch, rng, mix):
    """Augments a batch. The augmentation simulates new people, and gains that differ between two
    windows of the same person.
    """
    return augment.scale(augment.mix_channels(batch, rng, mix, together=0.5), rng, GAIN)


def trained(run, method, watchers, settings):
    """Trains an encoder on the given people.

    Args:
        run: `zoo.recipe.Run`.
        method: One of `sequences.METHODS`.
        watchers: Result of `eyes.one_eye`, with all people or some of them.
        settings: `Settings`.
    """
    batches = {
        "pairs": PAIRS,
        "length": LENGTH,
        "augment": functools.partial(vary, mix=settings.mix),
        "sessions": watchers.sessions,
    }
    part = dataclasses.replace(run, steps=max(1, round(settings.duration * run.steps)), minutes=0.0)
    encoder = sequences.train(
        part,
        method,
        watchers,
        batches=batches,
        optimization=dataclasses.replace(sequences.OPTIMIZATION, learning_rate=LEARNING_RATE),
        loss={"scale": settings.sharpness * sequences.scale_of(method)},
        front=(functools.partial(eyes.slow_and_fast, scales=settings.scales),),
        halve_every=1,
    )
    run.minutes += part.minutes
    return encoder


def choose_variants(method, path=SEARCHED):
    """Chooses the variant of the settings for each fold, and for the model that is trained on all
    people. For a fold, the variant that is best on the other fold of its pair is chosen.

    Args:
        method: One of `sequences.METHODS`.
        path: Path of the table that `zoo.eye_qp_wl.search` writes.

    Raises:
        FileNotFoundError: If the table does not exist.
        ValueError: If the table does not contain the method.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist. It contains the results from which the settings of each fold "
            "are chosen. Run `python -m zoo.eye_qp_wl.search` first."
        )
    with path.open(newline="", encoding="utf-8") as file:
        rows = {row["variant"]: row for row in csv.DictReader(file) if row["method"] == method}
    if not rows:
        raise ValueError(
            f"{path} contains no row for the method {method!r}. Run "
            f"`python -m zoo.eye_qp_wl.search --method {method}` first."
        )
    return nested.choose(
        list(rows),
        list(range(across_films.FOLDS)),
        lambda variant, pair: [float(rows[variant][f"fold {group + 1}"]) for group in pair],
    )


def of_folds(run, method, watchers, variants):
    """Trains one encoder per fold, without the people of the fold."""
    return [
        trained(
            run.part(f"{method}_fold_{number}"),
            method,
            watchers.without(fold),
            Settings(**VARIANTS[variant]),
        )
        for number, (fold, variant) in enumerate(
            zip(across_films.groups(watchers), variants, strict=True), start=1
        )
    ]


@recipe.command(STEPS)
def main(run, method: sequences.Method = "qp_wl"):
    """Cross-validates over six folds of people. With --publish, also trains the final model on all
    people, and the other method that the card lists.
    """
    watchers = eyes.one_eye()
    variants, of_all = choose_variants(method)
    encoders = of_folds(run, method, watchers, variants)
    windows = watchers.windows(eyes.WINDOW)
    measured = across_films.of_models(windows, encoders)
    run.save(measured, across_films.caption(windows))
    if run.publishes and method == "qp_wl":
        rivals = of_folds(run, RIVAL, watchers, choose_variants(RIVAL)[0])
        final = run.part("final")
        encoder = trained(final, method, watchers, Settings(**VARIANTS[of_all]))
        run.minutes = final.minutes
        stddev = np.concatenate(watchers.signals).std(axis=0)
        run.publish(
            encoder,
            synthetic_recordings(len(stddev), (eyes.WINDOW, 1000, 250), stddev),
            measured,
            data={"train_subjects": sorted(set(watchers.subjects))},
            recordings=windows.signals,
            folds=encoders,
            controls={f"{RIVAL}_{i}": rival for i, rival in enumerate(rivals, start=1)},
        )


if __name__ == "__main__":
    typer.run(main)
