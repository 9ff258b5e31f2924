"""Base class and dtype of heads, the layers that output embeddings."""

from typing import Any

from keras_dml._backend import keras
from keras_dml.distances import agreement
from keras_dml.geometry.numerics import wide


class Head:
    """Mixin for layers with a property `distance`, the distance that compares their outputs.

    The mixin stores the distance on the output tensor. A loss that compares embeddings by another
    distance can then warn.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return agreement.mark(super().__call__(*args, **kwargs), self)


def full_precision(dtype: str | keras.DTypePolicy | None) -> str:
    """Returns the dtype of a head under a dtype policy: the policy's dtype for variables, at least
    float32.

    In half precision, knots and ranks would be wrong in the third digit.

    Args:
        dtype: Argument `dtype` of the layer: a dtype, a dtype policy, or None for the global
            policy.
    """
    policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
    return wide(policy.variable_dtype)
