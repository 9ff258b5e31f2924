"""Losses on a distance, one value an anchor; importing this registers all of them."""

from keras_dml.losses.npair import NPairLoss
from keras_dml.losses.wasserstein import WassersteinLoss

__all__ = ["NPairLoss", "WassersteinLoss"]
