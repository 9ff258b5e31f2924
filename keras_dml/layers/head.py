"""Base class and precision of layers whose output a distance compares."""

from keras_dml._backend import keras
from keras_dml.distances import agreement
from keras_dml.geometry.numerics import wide


class Head:
    """Mixin of layers that name the `distance` of their output.

    The mixin notes the distance on the output, so that a loss that compares embeddings by another
    distance can warn.
    """

    def __call__(self, *args, **kwargs):
        return agreement.mark(super().__call__(*args, **kwargs), self)


def full_precision(dtype: str | keras.DTypePolicy | None) -> str:
    """Returns the dtype of a head under a policy: the dtype of its variables, at least float32.

    In half precision, knots and ranks are wrong in the third digit.

    Args:
        dtype: Argument of the layer: None (the global policy), a dtype or a dtype policy.
    """
    policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
    return wide(policy.variable_dtype)
