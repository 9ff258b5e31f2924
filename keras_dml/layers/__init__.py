"""Keras layers that call the functions of `keras_dml.geometry`. Importing this package registers
all layers."""

from keras_dml.layers.bimap import BiMap
from keras_dml.layers.canonical_pose import CanonicalPose
from keras_dml.layers.channel_normalization import ChannelNormalization
from keras_dml.layers.class_potatoes import ClassPotatoes
from keras_dml.layers.covariance import Covariance
from keras_dml.layers.first_difference import FirstDifference
from keras_dml.layers.fixed_normalization import FixedNormalization
from keras_dml.layers.gravity_frame import GravityFrame
from keras_dml.layers.input_contract import InputContract
from keras_dml.layers.instance_standardization import InstanceStandardization
from keras_dml.layers.keystroke_residuals import KeystrokeResiduals
from keras_dml.layers.keystroke_statistics import KeystrokeStatistics
from keras_dml.layers.lagged_correlation import LaggedCorrelation
from keras_dml.layers.last_lstm import LastLSTM
from keras_dml.layers.learned_similarity import LearnedSimilarity
from keras_dml.layers.linear_discriminants import LinearDiscriminants
from keras_dml.layers.log_mel import LogMel
from keras_dml.layers.logeig import LogEig
from keras_dml.layers.masked_conv1d import MaskedConv1D
from keras_dml.layers.mel_power import MelPower
from keras_dml.layers.minimum_level import MinimumLevel
from keras_dml.layers.pooling import MaskedAveragePooling1D, SequencePooling
from keras_dml.layers.prototype_similarity import PrototypeSimilarity
from keras_dml.layers.proxies import Proxies
from keras_dml.layers.quantile import QuantileLayer
from keras_dml.layers.reeig import ReEig
from keras_dml.layers.riemannian_batch_normalization import RiemannianBatchNormalization
from keras_dml.layers.silence_removal import SilenceRemoval
from keras_dml.layers.statistics_pooling import StatisticsPooling
from keras_dml.layers.tangent_map import TangentMap
from keras_dml.layers.tangent_vector import TangentVector
from keras_dml.layers.two_covariance import TwoCovariance
from keras_dml.layers.voice_activity import VoiceActivity
from keras_dml.layers.windowed_mean import WindowedMean

__all__ = [
    "BiMap",
    "CanonicalPose",
    "GravityFrame",
    "ChannelNormalization",
    "Covariance",
    "KeystrokeResiduals",
    "KeystrokeStatistics",
    "LaggedCorrelation",
    "LastLSTM",
    "LearnedSimilarity",
    "LinearDiscriminants",
    "LogEig",
    "LogMel",
    "MaskedAveragePooling1D",
    "MaskedConv1D",
    "MelPower",
    "MinimumLevel",
    "ClassPotatoes",
    "PrototypeSimilarity",
    "Proxies",
    "QuantileLayer",
    "ReEig",
    "InputContract",
    "InstanceStandardization",
    "RiemannianBatchNormalization",
    "SequencePooling",
    "FixedNormalization",
    "SilenceRemoval",
    "StatisticsPooling",
    "FirstDifference",
    "TangentMap",
    "TangentVector",
    "TwoCovariance",
    "VoiceActivity",
    "WindowedMean",
]
