"""Recordings of any length, matrices and images through any model, and the distances of what comes
out."""

from keras_dml.inference._distance import distance, head_distance
from keras_dml.inference._embed import embed
from keras_dml.inference._inputs import takes_images, takes_matrices

__all__ = ["distance", "embed", "head_distance", "takes_images", "takes_matrices"]
