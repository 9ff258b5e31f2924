"""Architectures, one a file; importing this registers the layers they are made of."""

from keras_dml.models.sequence_encoder import sequence_encoder

__all__ = ["sequence_encoder"]
