"""Writes tests/goldens/lir.json with values that lir computes in a separate environment.

pip install lir==1.3.1
python tests/parity/lir_values.py

The package lir brings Optuna, SQLAlchemy and Pydantic, so it is not part of the test environment.
The logarithms of lir have the base 10.
"""

import json
import pathlib

import numpy as np
from lir.algorithms.isotonic_regression import IsotonicCalibrator
from lir.algorithms.logistic_regression import LogitCalibrator
from lir.data.models import LLRData
from lir.metrics import cllr, cllr_min
from lir.plotting.expected_calibration_error import calculate_ece

PATH = pathlib.Path(__file__).parents[1] / "goldens" / "lir.json"
PRIORS = (0.01, 0.3, 0.5, 0.9)
GENUINE, IMPOSTER = 40, 90


def cases():
    """Yields similarities and labels of trials. The similarities of the second case have ties."""
    rng = np.random.default_rng(57)
    labels = np.arange(GENUINE + IMPOSTER) < GENUINE
    scores = rng.normal(np.where(labels, 1.2, -0.8), 1.3)
    yield scores, labels
    yield np.round(scores), labels


def values(scores, labels):
    """Returns the values of lir for one list of trials."""
    y = labels.astype(int)
    logistic = LogitCalibrator(C=np.inf, tol=1e-10, max_iter=10_000).fit(scores, y)
    ratios = logistic.transform(scores)
    data = LLRData(features=ratios, labels=y)
    pav = IsotonicCalibrator().fit(scores, y).transform(scores)
    return {
        "scores": scores.tolist(),
        "genuine": labels.tolist(),
        "logistic": ratios.tolist(),
        "pav": [str(value) for value in pav],  # JSON has no infinity
        "cllr": cllr(data),
        "cllr_min": cllr_min(data),
        "priors": PRIORS,
        "ece": np.ravel(calculate_ece(10**ratios, y, np.array(PRIORS))).tolist(),
    }


if __name__ == "__main__":
    about = "Values of lir 1.3.1, made by tests/parity/lir_values.py. Logarithms have the base 10."
    golden = {"about": about, "cases": [values(*case) for case in cases()]}
    PATH.write_text(json.dumps(golden) + "\n")
