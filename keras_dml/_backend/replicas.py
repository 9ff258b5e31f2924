"""Scales losses and gathers rows across the replicas of a TensorFlow distribution strategy."""

from keras_dml._backend import keras


def per_replica(loss):
    """Divides the loss of a replica by the number of replicas, because Keras sums the gradients of
    all replicas.

    On JAX the loss is returned unchanged, because a step processes the global batch.
    """
    if keras.backend.backend() != "tensorflow":
        return loss
    import tensorflow as tf

    return loss / tf.distribute.get_strategy().num_replicas_in_sync


def gathered(tensor):
    """Gathers the rows of all replicas, in order, on each replica.

    On a single device, and on JAX, the tensor is returned unchanged. On JAX, a step already
    processes the global batch.
    """
    if keras.backend.backend() != "tensorflow":
        return tensor
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return tensor
    return context.all_gather(tf.stop_gradient(tensor), axis=0)
