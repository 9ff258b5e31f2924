"""Draws random bytes. Generates only as many random bits as the bytes contain."""

import math

from keras_dml._backend import keras


def random_bytes(shape, bits, seed):
    """Draws random bytes that are uniformly distributed from 0 to `2 ** bits - 1`. On TensorFlow,
    only the required number of bits is drawn.

    Args:
        shape: Shape of the result, a tuple of whole numbers or, on TensorFlow, of scalar tensors.
        bits: Number of random bits in each byte: 1, 2, 4 or 8.
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
