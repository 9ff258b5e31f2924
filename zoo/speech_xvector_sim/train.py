"""Trains `speech_xvector_sim`: is it the same voice, from two seconds of raw sound?

Twenty speakers are at hand, so the figures are cross-validated: five folds of four speakers, two
men and two women, whom the fold's model never heard; trials are pooled. The model that is published
is trained on all. From the checkout: `python -m zoo.speech_xvector_sim.train --help`.
"""

import pathlib
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation, inference
from keras_dml._keras import keras
from keras_dml.layers import RecordingStandardisation
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier, xvector
from keras_dml.samplers import PKSampler
from zoo import classifiers, evaluate, people, publish, recipe, speech, speech_augment

NAME = "speech_xvector_sim"
RATE_HZ = 16_000
# A quarter of the published channels: sixteen speakers, and a file for a watch.
FRAME_LAYERS = ((128, 5, 1), (128, 3, 2), (128, 3, 3), (128, 1, 1), (384, 1, 1))
EMBEDDING, HIDDEN = 128, 64
STEPS, LEARNING_RATE = 750, 2e-3
SPEAKERS, PER_SPEAKER = 16, 4  # in a batch
CROP = 2 * RATE_HZ
SCORES = ("cosine", "sim", "fused")

Folds = Annotated[int, typer.Option(help="Folds that are trained, of five; fewer to look at it.")]


def examples(split):
    """Recordings and ids of their speakers: all twenty, in either split."""
    every = speech.utterances()
    return every.signals, np.unique(every.subjects, return_inverse=True)[1]


def network():
    """The encoder: one level for every recording, then the x-vector network. Its log-mel floor is
    absolute, so without the level quiet voices would lose half of their spectrum."""
    audio = keras.Input((None, 1), name="audio")
    level = RecordingStandardisation(epsilon=1e-10, name="deviation_1")(audio)
    level = keras.layers.Rescaling(speech.LEVEL, name="level")(level)
    layers = xvector(FRAME_LAYERS, embedding=EMBEDDING)
    return keras.Model(audio, layers(level), name=NAME)


def train(recordings, steps, seed, out, resume):
    """One training run on some speakers; the voices of another speed are classes of their own."""
    keras.utils.set_random_seed(seed)
    voices = speech_augment.joined(speech_augment.with_speeds(recordings), CROP)
    sampler = PKSampler(
        voices.signals,
        voices.subjects,
        SPEAKERS,
        PER_SPEAKER,
        steps=classifiers.STEPS_PER_EPOCH,
        length=CROP,
        sessions=voices.sessions,
        augment=speech_augment.Disturb(PER_SPEAKER),
        seed=seed,
    )
    model = PrototypicalClassifier(
        network(),
        len(sampler.class_names),
        hidden=(HIDDEN,),
        symmetry="absdiff",
        normalize=True,
        aux="am",
        class_names=sampler.class_names,
    )
    minutes = classifiers.fit(
        model,
        sampler,
        steps,
        out=out,
        resume=resume,
        learning_rate=LEARNING_RATE,
        loss=PrototypicalLoss(label_smoothing=0.1),
    )
    return model, minutes


def scores(model, signals, first, second):
    """Scores of trials by the three methods, shape `(trials,)` each, great is alike."""
    z = inference.embed(model, signals, progress=False)
    table = np.asarray(model.similarity(z, z))
    similarity, cosine = table[first, second], evaluation.paired_cosine(z[first], z[second])
    return dict(zip(SCORES, (cosine, similarity, evaluation.fuse(similarity, cosine)), strict=True))


def cross_validate(every, steps, seed, out, resume, count):
    """Scores of the pooled trials by method, and who speaks in them."""
    parts = speech.folds(every.subjects)[:count]
    first, second, genuine, fold = speech.trials(every.subjects, parts)
    pooled = {name: np.empty(len(genuine)) for name in SCORES}
    subjects = np.asarray(every.subjects)
    for k, held_out in enumerate(parts):
        print(f"without speakers {', '.join(held_out)}")
        keep = np.flatnonzero(~np.isin(subjects, held_out))
        room = out / f"without_{'_'.join(held_out)}"
        room.mkdir(exist_ok=True)
        known = people.People(*([column[i] for i in keep] for column in vars(every).values()))
        model, _ = train(known, steps, seed, room, resume)
        chosen = fold == k
        found = scores(model, every.signals, first[chosen], second[chosen])
        for name, values in found.items():
            pooled[name][chosen] = values
            rate = evaluation.verification(-values, genuine[chosen]).eer
            print(f"  {name} EER {100 * rate:.1f} %", flush=True)
    return pooled, genuine, (subjects[first], subjects[second])


def rows(pooled, genuine, claims):
    """Figures of the pooled trials with bootstrap intervals over people, one a method."""
    figures = []
    for name, values in pooled.items():
        found = evaluation.verification(-values, genuine, people=claims, bootstrap=1000)
        print(f"{name}:\n{found}")
        low, high = found.intervals["eer"]
        for metric, value in (("eer", found.eer), ("auc", found.auc)):
            row = classifiers.share("verification", metric, value, len(genuine), score=name)
            if metric == "eer":
                row |= {"stderr": (high - low) / (2 * 1.96), "ci95": [low, high]}
            figures.append(row)
    return figures


def card(figures, thresholds, speakers, *, seed, steps, minutes):
    """Card of the model; what `publish` measures from the file is left out."""
    return {
        "name": NAME,
        "task": "Tell whether two recordings are of one voice, from raw sound",
        "paper": "P2 Eqs 1-5, Algorithm 1 (Monteiro et al., Learning Semantic Similarities for "
        "Prototypical Classifiers)",
        "input": {
            "channels": ["sound"],
            "units": ["[-1, 1]"],
            "rate_hz": RATE_HZ,
            "dtype": "float32",
            "length": [RATE_HZ // 2, None],
        },
        "data": {
            "builder": "ravdess_speech/speech16k",
            "licence": "CC BY-NC-SA 4.0: not for commercial use. The weights are derived from this "
            "data: name the source, and pass on what you derive from them alike.",
            "citation": "S. R. Livingstone, F. A. Russo, The Ryerson Audio-Visual Database of "
            "Emotional Speech and Song (RAVDESS), PLoS ONE 13(5): e0196391, 2018",
            "train_subjects": sorted(set(speakers)),
            "test_subjects": [],
            "consent": "Actors who agreed to publication. A voice is personal data: enrol only "
            "people who have agreed, and say what for.",
        },
        "figures": figures,
        "figures_are": "Cross-validated: five folds of four speakers, two men and two women, whom "
        "the fold's model never heard; all pairs of utterances within a fold, pooled. Intervals "
        "are a bootstrap over speakers. This file is trained on all twenty.",
        "thresholds": thresholds,
        "limits": [
            "Twenty actors, two sentences, one studio, one session each: figures say little about "
            "telephones, rooms, other languages or another day.",
            "Trim silence before: `zoo/speech.py` does, as the figures had it.",
            "No protection against recordings played back or synthetic voices.",
        ],
        "recipe": publish.recipe_of(NAME, seed=seed, steps=steps, minutes=minutes),
    }


def main(
    steps: recipe.Steps = STEPS,
    seed: recipe.Seed = 0,
    out: recipe.Out = None,
    resume: recipe.Resume = False,
    publish_model: recipe.Publish = False,
    folds: Folds = 5,
):
    """Cross-validates over five folds; with --publish also trains the final model on all."""
    out = recipe.out_folder(out, NAME, "sim", seed)
    every = speech.utterances()
    pooled, genuine, claims = cross_validate(every, steps, seed, out, resume, folds)
    figures = classifiers.keep(rows(pooled, genuine, claims), out)
    recipe.keep_trials(
        -pooled["sim"],
        genuine,
        out,
        "All pairs of utterances of four speakers whom the model never heard, five folds pooled: "
        "the learned similarity.",
    )
    if publish_model:
        room = out / "final"
        room.mkdir(exist_ok=True)
        model, minutes = train(every, steps, seed, room, resume)
        thresholds = evaluate.thresholds(-pooled["sim"], genuine)
        publish.publish(
            pathlib.Path(__file__).parent,
            model,
            card(figures, thresholds, every.subjects, seed=seed, steps=steps, minutes=minutes),
            evaluate.synthetic_recordings(1, (RATE_HZ, 2 * RATE_HZ), 0.05),
            curves=out / f"{recipe.CURVES}.png",
        )


if __name__ == "__main__":
    typer.run(main)
