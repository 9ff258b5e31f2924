"""Masks of dropout, drawn with as few random bits as the rate needs.

Four random bytes for each unit, as Keras draws them, would take longer than the rest of a training
step of a learned similarity. A rate of 1/4 needs two bits: TensorFlow draws just these, JAX a byte.
"""

from keras_dml._backend import ops
from keras_dml._backend.random import random_bytes


def kept(shape, rate, seed):
    """Whether each unit is kept, boolean.

    Args:
        shape: Shape of the mask: whole numbers, or scalar tensors on TensorFlow.
        rate: Fraction dropped, between 0 and 1; to the nearest 256th, but neither none nor all.
        seed: Tensor, shape `(2,)`; the same seed gives the same mask.
    """
    dropped, bits = _odds(rate)
    return random_bytes(shape, bits, seed) >= ops.cast(dropped, "uint8")


def kept_fraction(rate):
    """Fraction of the units that `kept` keeps on average."""
    dropped, bits = _odds(rate)
    return 1 - dropped / 2**bits


def _odds(rate):
    """`(dropped, bits)`: dropped of 2 ** bits, with 1, 2, 4 or 8 bits."""
    dropped, bits = min(max(round(256 * rate), 1), 255), 8
    while bits > 1 and dropped % 2 ** (bits // 2) == 0:
        bits //= 2
        dropped //= 2**bits
    return dropped, bits
