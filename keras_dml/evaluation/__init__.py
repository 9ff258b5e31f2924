"""Computes metrics from scores and embeddings.

The package covers verification (EER, ROC, DET, minDCF), thresholds for a false accept rate,
closed-set and open-set identification, few-shot episodes, retrieval, novelty detection, two-sample
tests, clustering, robustness to adversarial attacks, and protocols that choose which recordings are
compared.

Three functions compute a threshold for a false accept rate (FAR) that the caller wants:

- `threshold_at_far` computes the largest score at which at most the wanted fraction of the given
  imposter trials is accepted. The function does not estimate the FAR for other people.
- `certificate` also computes a 95 % confidence interval of the FAR for other people.
  `Gallery.calibrate` calls `certificate`.
- `promise` computes a stricter threshold. For any distribution of the scores, the average FAR of
  new people is at most the wanted rate. `Gallery.calibrate_listening` calls `promise`.

Scores are distances, so smaller is closer. Trials with `score <= threshold` are accepted. To
evaluate a similarity `S`, pass `-S` as the scores.

The package needs NumPy and SciPy. Clusters and novelty scores also need scikit-learn. Keras is
loaded only by `robustness`, by the result classes of `robustness`, and by functions that are called
with a distance name from `keras_dml.distances`. Each function or class is imported when it is first
used.
"""

import lazy_loader

from keras_dml import _optional

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    with _optional.explained():
        return _load(name)
