"""What the recipes of sequence encoders share: one training run, one measurement, one set of
options."""

import json
import pathlib
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation, reports
from keras_dml._backend import keras
from keras_dml._files import staged, write_text
from keras_dml.samplers import NPairSampler
from zoo import evaluate, training

FIGURES, TRIALS, CURVES = "figures.json", "trials.npz", "roc_det"

Method = Annotated[
    str,
    typer.Option(help="qp_wl (the one to be published), qp_npl, mp_npl or qp_cls (its rivals)."),
]
Steps = Annotated[int, typer.Option(help="Training steps.")]
Seed = Annotated[int, typer.Option(help="Of the initial weights and the batches.")]
Out = Annotated[
    pathlib.Path | None,
    typer.Option(
        help="Folder for the checkpoint and figures.json; without it build/MODEL_METHOD_SEED."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")]
Publish = Annotated[bool, typer.Option("--publish", help="Write model, card and page into zoo/.")]


def out_folder(out, name, method, seed):
    """The folder of a run, made if it is not there."""
    out = out or pathlib.Path("build") / f"{name}_{method}_{seed}"
    out.mkdir(parents=True, exist_ok=True)
    return out


def train(
    method,
    recordings,
    vary,
    *,
    adapt_to=None,
    pairs,
    length,
    steps,
    seed,
    out,
    resume=False,
    teacher=None,
    learning_rate=training.LEARNING_RATE,
    **options,
):
    """Trains an encoder by one of the four methods.

    Args:
        method: One of `training.METHODS`.
        recordings: `people.People` to train on.
        vary: Augmentation, `vary(batch, rng) -> batch`.
        adapt_to: Recordings whose statistics normalize the channels; None: all of them.
        pairs: Pairs in a batch.
        length: Steps of a crop.
        steps: Training steps.
        seed: Of weights and batches.
        out: Folder of the checkpoint.
        resume: Whether to go on from it.
        teacher: See `training.fit`.
        learning_rate: Greatest learning rate.
        **options: Of `keras_dml.models.sequence_encoder`.

    Returns:
        The trained encoder and the minutes it took.
    """
    keras.utils.set_random_seed(seed)
    sampler = NPairSampler(
        recordings.signals,
        recordings.subjects,
        pairs,
        steps=training.STEPS_PER_EPOCH,
        length=length,
        augment=vary,
        seed=seed,
    )
    encoder = training.build_encoder(method, recordings.signals[0].shape[1], **options)
    normalization = encoder.get_layer("normalization")
    if hasattr(normalization, "adapt"):
        normalization.adapt(recordings.signals if adapt_to is None else adapt_to)
    minutes = training.fit(
        encoder,
        method,
        sampler,
        steps,
        teacher=teacher,
        learning_rate=learning_rate,
        scratch=out,
        resume=resume,
    )
    return encoder, minutes


def measure(encoder, recordings, out):
    """Figures of both protocols, printed and written to `out/figures.json`, with the trials of all
    single recordings (`out/trials.npz`) and their error curves (`out/roc_det.png`) beside them.

    Returns:
        Distances between all recordings, and the figures.
    """
    distances = evaluate.all_distances(encoder, recordings.signals)
    figures = evaluate.figures(distances, recordings.subjects, recordings.sessions)
    scores, genuine = evaluate.every_probe(distances, recordings.subjects, recordings.sessions)
    keep_trials(scores, genuine, out, single_recordings(len(set(recordings.subjects))))
    write_text(out / FIGURES, json.dumps(figures, indent=1) + "\n")
    print(evaluate.summary(figures))
    return distances, figures


def keep_trials(scores, genuine, out, caption):
    """Writes the trials (`trials.npz`) and their error curves (`roc_det.png`) into a folder.

    Args:
        scores: Shape `(trials,)`, small is near.
        genuine: Whether each claim is true, same shape.
        out: Folder of the run.
        caption: Whose trials these are, below the picture.
    """
    with staged(out / TRIALS) as candidate:
        np.savez_compressed(candidate, scores=scores, genuine=genuine)
    curves = reports.verification_curves(evaluation.verification(scores, genuine), caption=caption)
    reports.save(curves, out / CURVES)


def single_recordings(people):
    """Caption of the trials of `evaluate.every_probe`."""
    return (
        f"{people} people whom the model never saw: each single recording of their last session "
        "against everybody's earlier ones."
    )
