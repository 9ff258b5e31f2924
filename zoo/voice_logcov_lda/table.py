"""Computes the scores of `voice_logcov_lda` for `zoo.voice_table`. Run
`python -m zoo.voice_logcov_lda.table`.

The actors of a fold are scored with a model that was trained on the other actors. The callers of
Hyke are scored with the published file, which was not trained on them. These models have no layer
that removes silence.
"""

import pathlib

import numpy as np
import typer

from keras_dml import zoo
from zoo import recipe, voice_classifiers, voice_evidence, voices
from zoo.voice_logcov_lda import encoder, train


def scores(run, people):
    """Computes the scores of all trials in the form of `voices.cross_validated`.

    Args:
        run: `recipe.Run`.
        people: Output of `voices.everybody`.
    """
    far = voices.is_telephone(people.subjects)
    actors = encoder.Voices.from_recordings(people.take(~far))
    published = voice_classifiers.without_silence_removal(zoo.load("voice_logcov_lda"))

    def taught(fold, rest):
        speakers = set(rest.subjects)
        held_out = sorted(set(actors.speakers) - speakers)
        model, _ = train.train(run.part(f"fold_{fold}"), actors.without(held_out))
        return model

    def compared(model, signals, rows):
        results = voice_classifiers.scores(model, signals, rows)
        return {**results, "untrained": -voice_evidence.untrained(signals, rows)}

    studio = voices.cross_validated(
        people.take(~far), voices.folds(people.subjects), taught, compared
    )
    phone = voices.cross_validated(
        people.take(far), voices.folds(people.subjects), lambda *_: published, compared
    )
    offset = int((~far).sum())
    for side in ("first", "second"):
        phone[side] = phone[side] + offset
    results = {name: np.concatenate([studio[name], phone[name]]) for name in studio}
    order = np.argsort(results["fold"], kind="stable")
    return {name: values[order] for name, values in results.items()}


def main():
    """Writes the scores of all trials into `build/`, for `python -m zoo.voice_table`."""
    folder = pathlib.Path(train.__file__).parent
    out = pathlib.Path("build") / f"{folder.name}_0"
    out.mkdir(parents=True, exist_ok=True)
    results = scores(
        recipe.Run(folder.name, folder, out, train.STEPS, seed=0), voices.everybody(prepare=True)
    )
    np.savez(out / voices.SCORES, **results)


if __name__ == "__main__":
    typer.run(main)
