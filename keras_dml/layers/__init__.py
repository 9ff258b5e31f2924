"""Keras layers on `keras_dml.geometry`; importing this registers all of them."""

from keras_dml.layers.convolution import MaskedConv1D
from keras_dml.layers.normalisation import (
    ChannelNormalisation,
    RecordingStandardisation,
    StepDifference,
)
from keras_dml.layers.pooling import MaskedAveragePooling1D, SequencePooling
from keras_dml.layers.quantile import QuantileLayer

__all__ = [
    "ChannelNormalisation",
    "MaskedAveragePooling1D",
    "MaskedConv1D",
    "QuantileLayer",
    "RecordingStandardisation",
    "SequencePooling",
    "StepDifference",
]
