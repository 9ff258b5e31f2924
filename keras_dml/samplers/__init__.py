"""Batches with the classes that a loss needs, as `keras.utils.PyDataset` or `tf.data.Dataset`.

`NPairSampler` draws N classes with two recordings each (Wasserstein and N-pair losses). `PKSampler`
draws P classes with K recordings each (triplets and mined pairs). `EpisodeSampler` draws few-shot
episodes of examples of any shape. All check at construction that every batch can be drawn.
"""

from keras_dml.samplers.episodes import EpisodeSampler
from keras_dml.samplers.npair import NPairSampler
from keras_dml.samplers.pk import PKSampler

__all__ = ["EpisodeSampler", "NPairSampler", "PKSampler"]
