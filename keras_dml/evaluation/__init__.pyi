from . import attacks as attacks
from . import protocol as protocol
from . import splits as splits
from ._calibration import LogisticCalibration as LogisticCalibration
from ._calibration import PavCalibration as PavCalibration
from ._calibration import cllr as cllr
from ._calibration import empirical_cross_entropy as empirical_cross_entropy
from ._calibration import logistic_calibration as logistic_calibration
from ._calibration import min_cllr as min_cllr
from ._calibration import pav_calibration as pav_calibration
from ._clustering import Clustering as Clustering
from ._clustering import clustering as clustering
from ._clustering import embedding_clustering as embedding_clustering
from ._detection_cost import DetectionCost as DetectionCost
from ._detection_cost import actual_detection_cost as actual_detection_cost
from ._detection_cost import bayes_threshold as bayes_threshold
from ._detection_cost import detection_cost as detection_cost
from ._equal_error_rate import ComparedEer as ComparedEer
from ._equal_error_rate import EerComparison as EerComparison
from ._equal_error_rate import EerDifference as EerDifference
from ._equal_error_rate import EqualErrorRate as EqualErrorRate
from ._equal_error_rate import eer_comparison as eer_comparison
from ._equal_error_rate import eer_difference as eer_difference
from ._equal_error_rate import equal_error_rate as equal_error_rate
from ._few_shot import FewShot as FewShot
from ._few_shot import GeneralizedAccuracy as GeneralizedAccuracy
from ._few_shot import few_shot as few_shot
from ._few_shot import generalized_accuracy as generalized_accuracy
from ._few_shot import support_means as support_means
from ._fusion import FusionStatistics as FusionStatistics
from ._fusion import fuse as fuse
from ._fusion import fusion_statistics as fusion_statistics
from ._fusion import paired_cosine as paired_cosine
from ._identification import Identification as Identification
from ._identification import Imposters as Imposters
from ._identification import identification as identification
from ._identification import imposters as imposters
from ._novelty import NoveltyDetection as NoveltyDetection
from ._novelty import novelty as novelty
from ._novelty import novelty_by_one_class_svm as novelty_by_one_class_svm
from ._novelty import novelty_detection as novelty_detection
from ._retrieval import Retrieval as Retrieval
from ._retrieval import TwoStages as TwoStages
from ._retrieval import nearest_entries as nearest_entries
from ._retrieval import retrieval as retrieval
from ._robustness import AttackResult as AttackResult
from ._robustness import Robustness as Robustness
from ._robustness import robustness as robustness
from ._score_thresholds import EmbeddingTrials as EmbeddingTrials
from ._score_thresholds import GroupRates as GroupRates
from ._score_thresholds import ScoreReport as ScoreReport
from ._score_thresholds import ThresholdRates as ThresholdRates
from ._score_thresholds import UnsupportedRate as UnsupportedRate
from ._score_thresholds import embedding_trials as embedding_trials
from ._score_thresholds import thresholds_of as thresholds_of
from ._tar_difference import TarDifference as TarDifference
from ._tar_difference import tar_difference as tar_difference
from ._thresholds import AcceptRates as AcceptRates
from ._thresholds import BestOfTries as BestOfTries
from ._thresholds import Certificate as Certificate
from ._thresholds import FalseAccepts as FalseAccepts
from ._thresholds import FarThreshold as FarThreshold
from ._thresholds import Promise as Promise
from ._thresholds import TarAtFar as TarAtFar
from ._thresholds import accept_rates as accept_rates
from ._thresholds import best_of_tries as best_of_tries
from ._thresholds import certificate as certificate
from ._thresholds import false_accepts as false_accepts
from ._thresholds import promise as promise
from ._thresholds import threshold_at_far as threshold_at_far
from ._two_samples import TwoSamples as TwoSamples
from ._two_samples import two_samples as two_samples
from ._verification import Verification as Verification
from ._verification import verification as verification
from .protocol import paper_protocol as paper_protocol
from .protocol import session_protocol as session_protocol
from .splits import split_subjects as split_subjects

__all__ = [
    "AcceptRates",
    "AttackResult",
    "BestOfTries",
    "Certificate",
    "Clustering",
    "ComparedEer",
    "DetectionCost",
    "EerComparison",
    "EerDifference",
    "EmbeddingTrials",
    "EqualErrorRate",
    "FalseAccepts",
    "FarThreshold",
    "FewShot",
    "FusionStatistics",
    "GeneralizedAccuracy",
    "GroupRates",
    "Identification",
    "Imposters",
    "LogisticCalibration",
    "NoveltyDetection",
    "PavCalibration",
    "Promise",
    "Retrieval",
    "Robustness",
    "ScoreReport",
    "TarAtFar",
    "TarDifference",
    "ThresholdRates",
    "TwoSamples",
    "TwoStages",
    "UnsupportedRate",
    "Verification",
    "accept_rates",
    "actual_detection_cost",
    "bayes_threshold",
    "best_of_tries",
    "certificate",
    "cllr",
    "clustering",
    "detection_cost",
    "eer_comparison",
    "eer_difference",
    "embedding_clustering",
    "embedding_trials",
    "empirical_cross_entropy",
    "equal_error_rate",
    "false_accepts",
    "few_shot",
    "fuse",
    "fusion_statistics",
    "generalized_accuracy",
    "identification",
    "imposters",
    "logistic_calibration",
    "min_cllr",
    "nearest_entries",
    "novelty",
    "novelty_by_one_class_svm",
    "novelty_detection",
    "paired_cosine",
    "paper_protocol",
    "pav_calibration",
    "promise",
    "retrieval",
    "robustness",
    "session_protocol",
    "split_subjects",
    "support_means",
    "tar_difference",
    "threshold_at_far",
    "thresholds_of",
    "two_samples",
    "verification",
]
