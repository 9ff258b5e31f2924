"""Losses that compare distances. Each loss returns one value per anchor. Importing this module
registers all losses with Keras."""

from keras_dml.losses.contrastive import ContrastiveLoss
from keras_dml.losses.dsml import DSMLTripletLoss
from keras_dml.losses.lifted_structure import LiftedStructureLoss
from keras_dml.losses.npair import NPairLoss
from keras_dml.losses.potato import PotatoRankingLoss
from keras_dml.losses.prototypes import PrototypicalLoss
from keras_dml.losses.proxy_nca import ProxyNCALoss
from keras_dml.losses.triplet import TripletLoss
from keras_dml.losses.wasserstein import WassersteinLoss

__all__ = [
    "ContrastiveLoss",
    "DSMLTripletLoss",
    "LiftedStructureLoss",
    "NPairLoss",
    "PotatoRankingLoss",
    "PrototypicalLoss",
    "ProxyNCALoss",
    "TripletLoss",
    "WassersteinLoss",
]
