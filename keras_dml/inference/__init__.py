"""Embeddings of recordings of any length, of matrices and of images, and their distances."""

from keras_dml.inference._distance import distance, head_distance
from keras_dml.inference._embed import embed

__all__ = ["distance", "embed", "head_distance"]
