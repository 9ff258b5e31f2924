"""Figures from scores and embeddings: verification, identification, imposters, few-shot episodes,
retrieval, novelty, two-sample tests, clustering, and the protocols that draw trials.

Built on NumPy, SciPy and scikit-learn. Only `robustness` and distances given by name load Keras.
Scores are distances: smaller is closer, and a trial is accepted where `score <= threshold`; a
similarity S enters as -S. Names load on first use.
"""

from keras_dml import _lazy

_HOME = {
    "EqualErrorRate": "_equal_error_rate",
    "equal_error_rate": "_equal_error_rate",
    "FarThreshold": "_thresholds",
    "TarAtFar": "_thresholds",
    "threshold_at_far": "_thresholds",
    "AcceptRates": "_accept_rates",
    "accept_rates": "_accept_rates",
    "BestOfTries": "_tries",
    "best_of_tries": "_tries",
    "FalseAccepts": "_false_accepts",
    "false_accepts": "_false_accepts",
    "Certificate": "_certificate",
    "certificate": "_certificate",
    "Promise": "_promise",
    "promise": "_promise",
    "EerDifference": "_eer_difference",
    "eer_difference": "_eer_difference",
    "ComparedEer": "_eer_comparison",
    "eer_comparison": "_eer_comparison",
    "Verification": "_verification",
    "verification": "_verification",
    "Identification": "_identification",
    "identification": "_identification",
    "Imposters": "_imposters",
    "imposters": "_imposters",
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
    "GeneralizedAccuracy": "_generalized",
    "generalized_accuracy": "_generalized",
    "Retrieval": "_retrieval",
    "retrieval": "_retrieval",
    "TwoStages": "_reranking",
    "nearest_entries": "_nearest",
    "AttackResult": "_robustness_result",
    "Robustness": "_robustness_result",
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
