"""Figures from scores and embeddings.

Verification (EER, ROC, DET, minDCF), thresholds for a false accept rate, identification and
imposters, few-shot episodes, retrieval, novelty detection, two-sample tests, clustering, robustness
to attacks, and the protocols that draw trials.

Built on NumPy, SciPy and scikit-learn. Only `robustness`, its result classes and distances given by
name load Keras. Scores are distances: smaller is closer, and trials with `score <= threshold` are
accepted. A similarity S enters as -S. Names load on first use.
"""

from keras_dml import _lazy

_HOME = {
    "EqualErrorRate": "_equal_error_rate",
    "equal_error_rate": "_equal_error_rate",
    "EerDifference": "_equal_error_rate",
    "eer_difference": "_equal_error_rate",
    "ComparedEer": "_equal_error_rate",
    "EerComparison": "_equal_error_rate",
    "eer_comparison": "_equal_error_rate",
    "FarThreshold": "_thresholds",
    "TarAtFar": "_thresholds",
    "threshold_at_far": "_thresholds",
    "AcceptRates": "_thresholds",
    "accept_rates": "_thresholds",
    "BestOfTries": "_thresholds",
    "best_of_tries": "_thresholds",
    "FalseAccepts": "_thresholds",
    "false_accepts": "_thresholds",
    "Certificate": "_thresholds",
    "certificate": "_thresholds",
    "Promise": "_thresholds",
    "promise": "_thresholds",
    "Verification": "_verification",
    "verification": "_verification",
    "Identification": "_identification",
    "identification": "_identification",
    "Imposters": "_identification",
    "imposters": "_identification",
    "DetectionCost": "_detection_cost",
    "detection_cost": "_detection_cost",
    "bayes_threshold": "_detection_cost",
    "FusionStatistics": "_fusion",
    "fusion_statistics": "_fusion",
    "fuse": "_fusion",
    "paired_cosine": "_fusion",
    "FewShot": "_few_shot",
    "few_shot": "_few_shot",
    "support_means": "_few_shot",
    "GeneralizedAccuracy": "_few_shot",
    "generalized_accuracy": "_few_shot",
    "Retrieval": "_retrieval",
    "retrieval": "_retrieval",
    "TwoStages": "_retrieval",
    "nearest_entries": "_retrieval",
    "AttackResult": "_robustness",
    "Robustness": "_robustness",
    "robustness": "_robustness",
    "NoveltyDetection": "_novelty",
    "novelty": "_novelty",
    "novelty_by_one_class_svm": "_novelty",
    "novelty_detection": "_novelty",
    "TwoSamples": "_two_samples",
    "two_samples": "_two_samples",
    "Clustering": "_clustering",
    "clustering": "_clustering",
    "embedding_clustering": "_clustering",
    "paper_protocol": "protocol",
    "session_protocol": "protocol",
    "split_subjects": "splits",
}
_SUBMODULES = ("attacks", "protocol", "splits")

__all__ = [*_HOME, *_SUBMODULES]
__getattr__, __dir__ = _lazy.attach(__name__, _HOME, _SUBMODULES)
