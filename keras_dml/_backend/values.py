"""Provides functions that return the values of tensors or the distinct ids in a tensor."""

import numpy as np

from keras_dml._backend import keras, ops


def concrete(tensor):
    """Returns the values of a tensor as a NumPy array, or None if the tensor is symbolic."""
    if isinstance(tensor, np.ndarray):
        return tensor
    if keras.backend.backend() == "jax":
        import jax

        return None if isinstance(tensor, jax.core.Tracer) else np.asarray(tensor)
    if keras.backend.backend() == "tensorflow":
        return tensor.numpy() if hasattr(tensor, "numpy") else None
    return None


def immutable_weights(model):
    """Returns the weight arrays of a model on JAX, where training replaces weight arrays instead of
    changing their values. Returns None on TensorFlow."""
    if keras.backend.backend() != "jax":
        return None
    return [variable.value for variable in model.variables]


def unique(ids, size, static):
    """Returns the distinct ids in a batch, and for each row the index of its id among the distinct
    ids.

    Args:
        ids: Ids, int32, shape `(batch,)`.
        size: Number of ids to return. JAX always needs this number, because shapes of JAX arrays
            must not depend on values. If there are fewer distinct ids, some ids are returned more
            than once.
        static: Whether the shapes of the results must be independent of the values of `ids`, as XLA
            requires if it compiles the step.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        if static:
            return ids, ops.argmax(ops.equal(ids[:, None], ids[None]), axis=1)
        return tuple(tf.unique(ids))
    import jax.numpy as jnp

    return jnp.unique(ids, size=min(size, ids.shape[0]), return_inverse=True)
