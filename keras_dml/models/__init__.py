"""Architectures, one a file; importing this registers the layers they are made of."""

from keras_dml.models._copies import with_solver
from keras_dml.models.potato_network import PotatoNetwork
from keras_dml.models.sequence_encoder import sequence_encoder
from keras_dml.models.spdnet import spdnet

__all__ = ["PotatoNetwork", "sequence_encoder", "spdnet", "with_solver"]
