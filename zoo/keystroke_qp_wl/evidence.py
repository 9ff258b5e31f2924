"""Measures `keystroke_qp_wl` and its baselines. The model's card contains the results."""

import functools

from keras_dml import inference
from keras_dml.training import pooled
from zoo import keystrokes
from zoo.evidence import Evidence

RIVALS = {
    "qp_npl": "the n-pair loss on the same quantile pooling, trained in the same way",
    "mp_npl": "the n-pair loss on mean pooling, trained in the same way",
}


def evidence(trained):
    """Measures the people of the split `test`."""
    tested = keystrokes.typists(keystrokes.UNSEEN).people
    measured = keystrokes.measurement(trained.whole, tested, rule="nearest")
    baselines = functools.partial(_baselines, trained.controls, tested)
    return Evidence(measured, baselines, figures=lambda: measured.figures)


def _baselines(controls, tested):
    methods = {"keystroke_lda": keystrokes.by_closed_form(tested)}
    methods["quantiles of times"] = keystrokes.by_nothing(tested)
    for name, model in controls.items():
        embeddings = inference.embed(model, tested.signals, keystrokes.BATCH, progress=False)
        compare = keystrokes.by_scoring(model, "nearest")
        scores = keystrokes.claims(compare, embeddings, tested, 1, probes=1).scores
        methods[name] = RIVALS[name], pooled.INSTEAD, scores
    return methods
