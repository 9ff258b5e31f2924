"""Heads compute in float32 or wider: knots and ranks in half precision would be wrong in the third
digit."""

from keras_dml._backend import keras
from keras_dml.geometry.numerics import wide


def full_precision(dtype):
    """The dtype that a head takes under a policy: its variables', widened to float32.

    Args:
        dtype: What the layer was given: None (the global policy), a dtype or a dtype policy.
    """
    policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
    return wide(policy.variable_dtype)
