"""Values of tensors: where there are any, which of them differ, and whether they changed."""

import numpy as np

from keras_dml._backend import keras, ops


def concrete(tensor):
    """The tensor's values as a NumPy array in an eager call, an array itself; None where it is
    symbolic."""
    if isinstance(tensor, np.ndarray):
        return tensor
    if keras.backend.backend() == "jax":
        import jax

        return None if isinstance(tensor, jax.core.Tracer) else np.asarray(tensor)
    if keras.backend.backend() == "tensorflow":
        return tensor.numpy() if hasattr(tensor, "numpy") else None
    return None


def immutable_weights(model):
    """The arrays that the weights are, where training makes new ones; None on TensorFlow."""
    if keras.backend.backend() != "jax":
        return None
    return [variable.value for variable in model.variables]


def unique(ids, size, static):
    """Different ids, and the place of each id among them.

    Args:
        ids: int32, shape `(batch,)`.
        size: Number of places where no shape may depend on values, always so on JAX; some are then
            filled up with ids that come again.
        static: Whether XLA compiles the step, so that no shape may depend on values.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        if static:
            return ids, ops.argmax(ops.equal(ids[:, None], ids[None]), axis=1)
        return tuple(tf.unique(ids))
    import jax.numpy as jnp

    return jnp.unique(ids, size=min(size, ids.shape[0]), return_inverse=True)
