"""Which units dropout leaves out, decided by as few random bits as the rate needs.

Four random bytes for each unit, as Keras draws them, would take longer than all else of a training
step of a learned similarity. A rate of 1/4 needs two bits: TensorFlow draws just these, JAX a byte.
"""

import math

from keras_dml._keras import keras, ops


def kept(shape, rate, seed):
    """Whether each unit stays, boolean, of this shape.

    Args:
        shape: Whole numbers, or scalar tensors on TensorFlow.
        rate: Share left out, between 0 and 1; to the nearest 256th, but neither none nor all.
        seed: Tensor, shape `(2,)`: the same seed, the same answer.
    """
    dropped, bits = _odds(rate)
    return _random(shape, bits, seed) >= ops.cast(dropped, "uint8")


def kept_share(rate):
    """Share of the units that `kept` keeps on average."""
    dropped, bits = _odds(rate)
    return 1 - dropped / 2**bits


def _odds(rate):
    """`(dropped, bits)`: dropped of 2 ** bits, with 1, 2, 4 or 8 bits."""
    dropped, bits = min(max(round(256 * rate), 1), 255), 8
    while bits > 1 and dropped % 2 ** (bits // 2) == 0:
        bits //= 2
        dropped //= 2**bits
    return dropped, bits


def _random(shape, bits, seed):
    """Bytes, uniform below 2 ** bits."""
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
