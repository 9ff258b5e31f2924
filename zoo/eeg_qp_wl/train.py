"""Trains `eeg_qp_wl`: whose brain is it, from one second of EEG.

Seventeen people are at hand, so the figures are cross-validated over four folds of people, and the
model that is published is trained on all of them. From the checkout: `python -m zoo.eeg_qp_wl.train
--help`.
"""

import json
import pathlib

import numpy as np
import typer

from keras_dml._files import write_text
from keras_dml.evaluation import protocol
from tfds_builders.parsers.smni import CHANNELS
from zoo import augment, evaluate, people, publish, recipe

NAME = "eeg_qp_wl"
RATE_HZ = 256
CROP = 224
PAIRS = 12
STEPS = 600
FOLD_SIZES = (4, 4, 4, 5)
MIX, TOGETHER, GAIN = 0.5, 0.3, 0.05
CROSS_VALIDATED = (
    "Cross-validated over four folds of 4, 4, 4 and 5 people, each measured by a model trained on "
    "the others; this file is trained on all 17. Standard errors are over the folds, trials are "
    "those of all folds; thresholds pool them. In the session protocols the first half of a "
    "person's trials is enrolled, the last half observed."
)


def trials():
    """All trials; the number of a trial is its session, so the stricter protocol parts early from
    late ones."""
    found = people.People([], [], [])
    for record in people.read("uci_eeg/large", "train"):
        found.signals.append(np.array(record["sequence"]))
        found.subjects.append(record["subject"].decode())
        found.sessions.append(int(record["trial"]))
    return found


def halves(recordings):
    """The same trials with two sessions a person: the first and the last half of the trials."""
    sessions = np.array(recordings.sessions)
    subjects = np.array(recordings.subjects)
    for subject in set(recordings.subjects):
        own = np.flatnonzero(subjects == subject)
        order = own[np.argsort(sessions[own], kind="stable")]
        sessions[order[: len(order) // 2]], sessions[order[len(order) // 2 :]] = 1, 2
    return people.People(recordings.signals, recordings.subjects, sessions.tolist())


def folds(subjects, seed=7):
    """Four disjoint groups of people that cover all."""
    order = np.random.default_rng(seed).permutation(sorted(set(subjects)))
    return [set(part.tolist()) for part in np.split(order, np.cumsum(FOLD_SIZES)[:-1])]


def vary(batch, rng):
    """Heads that nobody has, and gains that differ between two trials of one."""
    return augment.scale(augment.mix_channels(batch, rng, MIX, TOGETHER), rng, GAIN)


def train(recordings, method, steps, seed, resume, out):
    """One training run on the given people."""
    return recipe.train(
        method,
        recordings,
        vary,
        pairs=min(PAIRS, len(set(recordings.subjects))),
        length=CROP,
        steps=steps,
        seed=seed,
        out=out,
        resume=resume,
        normalization="difference",
    )


def cross_validate(recordings, out, train, *options):
    """Figures and thresholds of people that each fold's encoder has not seen: means over folds,
    pooled trials.

    Args:
        recordings: `people.People`, all of them.
        out: Folder of the run; each fold has one in it.
        train: `train(people, *options, out=folder) -> (encoder, minutes)`.
        *options: Of `train`.
    """
    every, draws = [], []
    for number, fold in enumerate(folds(recordings.subjects)):
        rest = set(recordings.subjects) - fold
        print(f"fold {number + 1}: trained without {', '.join(sorted(fold))}")
        room = out / f"fold_{number + 1}"
        room.mkdir(exist_ok=True)
        encoder, _ = train(recordings.of(rest), *options, out=room)
        held_out = halves(recordings.of(fold))
        distances, figures = recipe.measure(encoder, held_out, room)
        every.append(figures)
        draws.append(evaluate.every_probe(distances, held_out.subjects, held_out.sessions))
    found = []
    for same in zip(*every, strict=True):
        mean, error = protocol.mean_and_standard_error([f["value"] for f in same])
        trials = sum(f["trials"] for f in same)
        pooled = {"value": mean, "stderr": error, "trials": trials}
        if "people" in same[0]:
            pooled["people"] = sum(f["people"] for f in same)
        found.append({**same[0], **pooled, "folds": [f["value"] for f in same]})
    write_text(out / "figures.json", json.dumps(found, indent=1) + "\n")
    print(evaluate.summary(found))
    scores, genuine = (np.concatenate(parts) for parts in zip(*draws, strict=True))
    caption = recipe.single_recordings(len(set(recordings.subjects)))
    recipe.keep_trials(scores, genuine, out, caption)
    return found, evaluate.thresholds(scores, genuine)


def card(figures, thresholds, subjects, seed, steps, minutes):
    """Card of the model; what `publish` measures from the file is left out."""
    return {
        "name": NAME,
        "task": "Tell people apart by one second of EEG after a visual stimulus, 64 electrodes",
        "paper": "Abdelwahab2019, Eqs. 2, 9, 13 (arXiv 1912.01933)",
        "input": {
            "channels": list(CHANNELS),
            "units": ["uV"] * len(CHANNELS),
            "rate_hz": RATE_HZ,
            "dtype": "float32",
            "length": [128, None],
        },
        "data": {
            "builder": "uci_eeg/large",
            "licence": "None stated; given 'as is' with thanks to H. Begleiter, Neurodynamics "
            "Laboratory, SUNY Health Center at Brooklyn. UCI's present terms for its data sets "
            "are CC BY 4.0. The weights follow the data: name the source.",
            "citation": "X. L. Zhang et al., Event related potentials during object recognition "
            "tasks, Brain Research Bulletin 38 (1995) 531-538; L. Ingber, EEG Database, UCI "
            "Machine Learning Repository (1997)",
            "train_subjects": subjects,
            "test_subjects": [],
            "consent": "Donated research recordings of patients and controls. Enroll only people "
            "who have agreed to be recognized by their EEG.",
        },
        "figures": figures,
        "figures_are": f"{CROSS_VALIDATED} How far trainings lie apart: two more of the same seed, "
        "on other numbers of processor threads, have AUC 0.957 and 0.982 for one trial, 0.984 and "
        "0.992 for five.",
        "thresholds": thresholds,
        "limits": [
            "Seventeen people: the figures are wide, and the published model has no person left "
            "to be measured on.",
            "All trials of a person are of one session with one cap; other days are not measured.",
            "Half of the people are alcohol-dependent patients; group and person may mix.",
            "Electrode order and reference must be those of the data set.",
        ],
        "recipe": publish.recipe_of(NAME, seed=seed, steps=steps, minutes=minutes),
    }


def main(
    method: recipe.Method = "qp_wl",
    steps: recipe.Steps = STEPS,
    seed: recipe.Seed = 0,
    out: recipe.Out = None,
    resume: recipe.Resume = False,
    publish_model: recipe.Publish = False,
):
    """Cross-validates over four folds of people; with --publish also trains the final model on
    all."""
    out = recipe.out_folder(out, NAME, method, seed)
    every = trials()
    figures, thresholds = cross_validate(every, out, train, method, steps, seed, resume)
    if publish_model and method == "qp_wl":
        room = out / "final"
        room.mkdir(exist_ok=True)
        encoder, minutes = train(every, method, steps, seed, resume, room)
        publish.publish(
            pathlib.Path(__file__).parent,
            encoder,
            card(figures, thresholds, sorted(set(every.subjects)), seed, steps, minutes),
            evaluate.synthetic_recordings(len(CHANNELS), (RATE_HZ, 128), 8.0),
            curves=out / f"{recipe.CURVES}.png",
        )


if __name__ == "__main__":
    typer.run(main)
