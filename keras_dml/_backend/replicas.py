"""Losses and rows across the replicas of a TensorFlow strategy."""

from keras_dml._backend import keras


def per_replica(loss):
    """Loss of a replica divided by their number, since Keras sums the gradients of all replicas.

    On JAX the loss itself: a step there sees the global batch.
    """
    if keras.backend.backend() != "tensorflow":
        return loss
    import tensorflow as tf

    return loss / tf.distribute.get_strategy().num_replicas_in_sync


def gathered(tensor):
    """Rows of all replicas, in their order, on each replica; the tensor itself on one device.

    On JAX the tensor itself: a step there sees the global batch.
    """
    if keras.backend.backend() != "tensorflow":
        return tensor
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return tensor
    return context.all_gather(tf.stop_gradient(tensor), axis=0)
