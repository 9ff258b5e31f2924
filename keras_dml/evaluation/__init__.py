"""Figures from scores and embeddings.

Verification (EER, ROC, DET, minDCF), thresholds for a false accept rate, identification and
imposters, few-shot episodes, retrieval, novelty detection, two-sample tests, clustering, robustness
to attacks, and the protocols that draw trials.

Three functions compute a threshold for a false accept rate (FAR). `threshold_at_far` reports a
figure at a FAR on the trials at hand. `certificate` sets a threshold with an interval of the rate
for other people; `Gallery.calibrate` uses it. `promise` is stricter: it keeps the rate on average
for new people, with scores of any distribution; `Gallery.calibrate_listening` uses it.

Built on NumPy, SciPy and scikit-learn. Only `robustness`, its result classes and distances given by
name load Keras. Scores are distances: smaller is closer, and trials with `score <= threshold` are
accepted. A similarity S enters as -S. Names load on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
