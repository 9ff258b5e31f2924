"""Keras layers on `keras_dml.geometry`; importing this registers all of them."""

from keras_dml.layers.bimap import BiMap
from keras_dml.layers.convolution import MaskedConv1D
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
from keras_dml.layers.proxies import Proxies
from keras_dml.layers.quantile import QuantileLayer
from keras_dml.layers.reeig import ReEig
from keras_dml.layers.riemannian_normalisation import RiemannianBatchNormalisation
from keras_dml.layers.tangent import TangentVector

__all__ = [
    "BiMap",
    "CanonicalPose",
    "ChannelNormalisation",
    "Covariance",
    "LogEig",
    "MaskedAveragePooling1D",
    "MaskedConv1D",
    "Potatoes",
    "Proxies",
    "QuantileLayer",
    "ReEig",
    "RecordingStandardisation",
    "RiemannianBatchNormalisation",
    "SequencePooling",
    "StepDifference",
    "TangentVector",
]
