"""Keras layers on `keras_dml.geometry`; importing this registers all of them."""

from keras_dml.layers.audio import LogMel
from keras_dml.layers.bimap import BiMap
from keras_dml.layers.convolution import MaskedConv1D
from keras_dml.layers.correlation import LaggedCorrelation
from keras_dml.layers.covariance import Covariance
from keras_dml.layers.logeig import LogEig
from keras_dml.layers.normalisation import (
    ChannelNormalisation,
    RecordingStandardisation,
    StepDifference,
)
from keras_dml.layers.pooling import MaskedAveragePooling1D, SequencePooling
from keras_dml.layers.pose import CanonicalPose
from keras_dml.layers.potatoes import Potatoes
from keras_dml.layers.prototypes import PrototypeSimilarity
from keras_dml.layers.proxies import Proxies
from keras_dml.layers.quantile import QuantileLayer
from keras_dml.layers.reeig import ReEig
from keras_dml.layers.riemannian_normalisation import RiemannianBatchNormalisation
from keras_dml.layers.shift import DiscriminantShift
from keras_dml.layers.similarity import LearnedSimilarity
from keras_dml.layers.standardisation import Standardisation
from keras_dml.layers.statistics_pooling import StatisticsPooling
from keras_dml.layers.tangent import TangentVector
from keras_dml.layers.tangent_map import TangentMap
from keras_dml.layers.voice_activity import VoiceActivity

__all__ = [
    "BiMap",
    "CanonicalPose",
    "ChannelNormalisation",
    "Covariance",
    "DiscriminantShift",
    "LaggedCorrelation",
    "LearnedSimilarity",
    "LogEig",
    "LogMel",
    "MaskedAveragePooling1D",
    "MaskedConv1D",
    "Potatoes",
    "PrototypeSimilarity",
    "Proxies",
    "QuantileLayer",
    "ReEig",
    "RecordingStandardisation",
    "RiemannianBatchNormalisation",
    "SequencePooling",
    "Standardisation",
    "StatisticsPooling",
    "StepDifference",
    "TangentMap",
    "TangentVector",
    "VoiceActivity",
]
