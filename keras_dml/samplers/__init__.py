"""Batches with the classes a loss needs, as `keras.utils.PyDataset` and as `tf.data.Dataset`.

`NPairSampler` gives N classes twice (Wasserstein and N-pair losses), `PKSampler` gives P classes
K times (triplets and mined pairs), `EpisodeSampler` gives few-shot episodes of examples of any
shape. All refuse at construction what they could not deliver.
"""

from keras_dml.samplers.episodes import EpisodeSampler
from keras_dml.samplers.npair import NPairSampler
from keras_dml.samplers.pk import PKSampler

__all__ = ["EpisodeSampler", "NPairSampler", "PKSampler"]
