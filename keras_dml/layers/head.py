"""Base class of layers whose output a distance compares."""

from keras_dml.distances import agreement


class Head:
    """Mixin of layers that name the `distance` of their output.

    It notes the distance on the output, so that a loss that compares by another one can warn.
    """

    def __call__(self, *args, **kwargs):
        return agreement.mark(super().__call__(*args, **kwargs), self)
