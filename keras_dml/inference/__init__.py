"""Computes embeddings of recordings, matrices and images, and distances between embeddings."""

from keras_dml.inference._distance import distance, head_distance
from keras_dml.inference._embed import embed
from keras_dml.inference._fingerprint import fingerprint

__all__ = ["distance", "embed", "fingerprint", "head_distance"]
