"""Measures `keystroke_lda` and its baselines. The model's card contains the results."""

import functools

from keras_dml import inference
from keras_dml.training import pooled
from zoo import keystrokes
from zoo.evidence import ChosenScoring, Evidence

CHOICE = (
    "Scorings were compared on the people of the split `validation`, with a model that was fitted "
    "to the people of the split `train`. With one sentence as the probe, the TAR at FAR 0.1 % was "
    "55 % for two_covariance, 37 % for mean and 26 % for nearest, and the EER was 4.4, 4.0 and "
    "4.3 %."
)


def evidence(trained):
    """Measures the people of the split `test`."""
    tested = keystrokes.typists(keystrokes.UNSEEN).people
    embeddings = inference.embed(trained.whole, tested.signals, keystrokes.BATCH, progress=False)
    measured = keystrokes.measurement(trained.whole, tested, embeddings)
    rivals = functools.partial(_rivals, trained.whole, tested, embeddings)
    return Evidence(
        measured,
        functools.partial(_untrained, tested),
        scoring=ChosenScoring(keystrokes.SCORING, CHOICE, rivals),
        fars=(0.01, 0.001, 0.0001),
        figures=lambda: measured.figures,
    )


def _untrained(tested):
    return {"quantiles of times": keystrokes.by_nothing(tested)}


def _rivals(model, tested, embeddings):
    """Computes the scores of the other scorings on the same trials."""
    what = "the same model with another scoring"
    return {
        name: (
            what,
            pooled.SAME_MODEL,
            keystrokes.claims(
                keystrokes.by_scoring(model, name), embeddings, tested, 1, probes=1
            ).scores,
        )
        for name in ("mean", "nearest")
    }
