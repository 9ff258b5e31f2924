"""Provides samplers, which draw batches with the classes that a loss needs. A sampler is a
`keras.utils.PyDataset`, and can be converted to a `tf.data.Dataset`.

`NPairSampler` draws N classes with two recordings per class (for the Wasserstein loss and the
N-pair loss). `PKSampler` draws P classes with K recordings per class (for losses with triplets or
mined pairs). `EpisodeSampler` draws few-shot episodes, whose examples may have any shape. The
constructor of a sampler checks that every batch can be drawn.
"""

from keras_dml.samplers.episodes import EpisodeSampler
from keras_dml.samplers.npair import NPairSampler
from keras_dml.samplers.pk import PKSampler

__all__ = ["EpisodeSampler", "NPairSampler", "PKSampler"]
