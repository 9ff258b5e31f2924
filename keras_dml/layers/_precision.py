"""Heads compute in float32 or wider: knots and ranks in half precision would be wrong in the third digit."""

from keras_dml._keras import keras


def full_precision(dtype):
    """The dtype that a head takes under a policy: its variables', widened to float32.

    Args:
        dtype: What the layer was given: None (the global policy), a dtype or a dtype policy.
    """
    policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
    return keras.backend.result_type(policy.variable_dtype, "float32")
