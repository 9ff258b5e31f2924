"""Samplers that draw batches with the classes that a loss needs, as `keras.utils.PyDataset` or
`tf.data.Dataset`.

`NPairSampler` draws N classes with two recordings per class (for the Wasserstein loss and the
N-pair loss). `PKSampler` draws P classes with K recordings per class (for losses with triplets or
mined pairs). `EpisodeSampler` draws few-shot episodes of examples of any shape. When a sampler is
created, it checks that every batch can be drawn.
"""

from keras_dml.samplers.episodes import EpisodeSampler
from keras_dml.samplers.npair import NPairSampler
from keras_dml.samplers.pk import PKSampler

__all__ = ["EpisodeSampler", "NPairSampler", "PKSampler"]
