"""A similarity that a model has learned, as a distance."""

from keras_dml.distances.base import Distance, register

__all__ = ["NegativeSimilarity"]


@register("learned_similarity")
class NegativeSimilarity(Distance):
    """A learned similarity as a distance: `d(x, y) = -S(x, y)`, small is near.

    No metric: it has no zero, may be negative and keeps no triangle inequality. It is part of its
    model, so `get` makes none from the name.

    Args:
        layer: A built `keras_dml.layers.LearnedSimilarity`.
    """

    is_zero_at_itself = False
    is_metric = False
    is_learned = True

    def __init__(self, layer):
        self.layer = layer

    @property
    def is_symmetric(self):
        return self.layer.symmetry != "none"

    def pairwise(self, x, y):
        return -self.layer(x, y, training=False)

    def bytes_per_pair(self, embedding):
        return 4  # the hidden units of a pair are not kept

    def get_config(self):
        return {"symmetry": self.layer.symmetry}
