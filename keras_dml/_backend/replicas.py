"""What the replicas of a TensorFlow strategy have, together."""

from keras_dml._backend import keras


def share(loss):
    """A replica's share of the loss: Keras adds up the gradients of all replicas, and expects of
    `compute_loss` what makes the sum the mean.

    JAX needs none of it: a step there sees the global batch.
    """
    if keras.backend.backend() != "tensorflow":
        return loss
    import tensorflow as tf

    return loss / tf.distribute.get_strategy().num_replicas_in_sync


def gathered(tensor):
    """Rows of all replicas, in their order, on every one of them; the tensor itself where there is
    one device.

    JAX needs none of it: a step there sees the global batch.
    """
    if keras.backend.backend() != "tensorflow":
        return tensor
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return tensor
    return context.all_gather(tf.stop_gradient(tensor), axis=0)
