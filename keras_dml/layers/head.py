"""Base class of heads, and a function that returns the dtype of heads. A head is a layer that
outputs embeddings."""

from typing import Any

from keras_dml._backend import keras
from keras_dml.distances import agreement
from keras_dml.geometry.numerics import wide


class Head:
    """Mixin for layers with a property `distance`. The property returns the distance by which the
    layer's output embeddings are compared. The mixin stores the distance on the output tensor. So a
    loss can warn if its own distance differs from the stored distance.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return agreement.mark(super().__call__(*args, **kwargs), self)


def full_precision(dtype: str | keras.DTypePolicy | None) -> str:
    """Returns the dtype in which a head computes. The result is float32, or float64
    if the variables of the head have this dtype.

    In half precision, the third digit of knots and ranks would be wrong.

    Args:
        dtype: Argument `dtype` of the layer: a dtype, a dtype policy, or None for the global
            policy.
    """
    policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
    return wide(policy.variable_dtype)
