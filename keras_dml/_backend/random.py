"""Random bytes from as few random bits as possible."""

import math

from keras_dml._backend import keras


def random_bytes(shape, bits, seed):
    """Draws random bytes, uniform below 2 ** bits. TensorFlow draws no more bits than needed.

    Args:
        shape: Tuple of whole numbers, or of scalar tensors on TensorFlow.
        bits: Number of random bits in a byte: 1, 2, 4 or 8.
        seed: Seed tensor, shape `(2,)`.
    """
    low = 2**bits - 1
    if keras.backend.backend() == "jax":
        import jax

        return jax.random.bits(jax.random.wrap_key_data(seed), shape, "uint8") & low
    import tensorflow as tf

    count, parts = math.prod(shape), 8 // bits
    words = (count + 4 * parts - 1) // (4 * parts)
    drawn = tf.random.stateless_uniform([words], seed, minval=None, maxval=None, dtype=tf.int32)
    if parts > 1:
        shifts = tf.range(parts)[:, None] * bits
        drawn = tf.bitwise.bitwise_and(tf.bitwise.right_shift(drawn, shifts), low * 0x01010101)
    return tf.reshape(tf.reshape(tf.bitcast(drawn, tf.uint8), [-1])[:count], shape)
