"""Metrics that are computed from scores and embeddings.

The package covers verification (EER, ROC, DET, minDCF), thresholds for a false accept rate,
closed-set and open-set identification, few-shot episodes, retrieval, novelty detection, two-sample
tests, clustering, robustness to adversarial attacks, and the protocols that draw trials.

Three functions compute a threshold for a false accept rate (FAR):

- `threshold_at_far` computes the threshold of a ROC point from the trials that it receives. It
  makes no statement about other people.
- `certificate` also computes a 95 % confidence interval of the FAR for other people.
  `Gallery.calibrate` calls `certificate`.
- `promise` computes a stricter threshold. The FAR of new people is at most the wanted rate on
  average, whatever the distribution of the scores. `Gallery.calibrate_listening` calls `promise`.

Scores are distances: smaller is closer, and trials with `score <= threshold` are accepted. To
evaluate a similarity S, pass -S.

The package needs NumPy, SciPy and scikit-learn. Keras is loaded only by `robustness`, by its result
classes, and by functions whose `distance` is a name from `keras_dml.distances`. Each name of this
package is imported at its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
