"""Precision of heads, float32 or wider: in half precision knots and ranks are off in the third
digit."""

from keras_dml._backend import keras
from keras_dml.geometry.numerics import wide


def full_precision(dtype):
    """Returns the dtype of a head under a policy: that of its variables, widened to float32.

    Args:
        dtype: Argument of the layer: None (the global policy), a dtype or a dtype policy.
    """
    policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
    return wide(policy.variable_dtype)
