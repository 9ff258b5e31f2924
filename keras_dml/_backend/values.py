"""Concrete values of tensors, and their distinct ones."""

import numpy as np

from keras_dml._backend import keras, ops


def concrete(tensor):
    """Values of a tensor as a NumPy array; None if it is symbolic."""
    if isinstance(tensor, np.ndarray):
        return tensor
    if keras.backend.backend() == "jax":
        import jax

        return None if isinstance(tensor, jax.core.Tracer) else np.asarray(tensor)
    if keras.backend.backend() == "tensorflow":
        return tensor.numpy() if hasattr(tensor, "numpy") else None
    return None


def immutable_weights(model):
    """Arrays of the weights where training replaces them, on JAX; None on TensorFlow."""
    if keras.backend.backend() != "jax":
        return None
    return [variable.value for variable in model.variables]


def unique(ids, size, static):
    """Distinct ids, and the index of each id among them.

    Args:
        ids: Ids, int32, shape `(batch,)`.
        size: Number of distinct ids to return where no shape may depend on values, always so on
            JAX; repeated ids fill the rest.
        static: Whether XLA compiles the step, so that no shape may depend on values.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        if static:
            return ids, ops.argmax(ops.equal(ids[:, None], ids[None]), axis=1)
        return tuple(tf.unique(ids))
    import jax.numpy as jnp

    return jnp.unique(ids, size=min(size, ids.shape[0]), return_inverse=True)
