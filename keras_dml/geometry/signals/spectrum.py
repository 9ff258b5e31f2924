"""Computes power spectra of real signals of any length, by small matrix products."""

import math

import numpy as np

from keras_dml._backend import ops
from keras_dml._typing import Tensor


def power_spectrum(x: Tensor) -> Tensor:
    """Computes squared magnitudes of the discrete Fourier transform, from frequency 0 to half the
    sampling rate.

    A signal with p q samples is written as a matrix with p rows and q columns, where p and q are as
    equal as possible. The function transforms the p samples in each column, multiplies the results
    by rotations, and transforms the q samples in each row (Cooley1965). The function uses matrix
    products because devices have no Fourier transform for lengths that are not powers of two. A
    converter to 8 bits does not quantize matrices with fewer than 1024 numbers. If a signal has at
    most 961 samples, all matrices of this function have fewer than 1024 numbers.

    Args:
        x: Real signals, shape `(..., samples)`, float32 or wider. The number of samples must be
            known when the function is traced.

    Returns:
        Powers, shape `(..., samples // 2 + 1)`.
    """
    samples = x.shape[-1]
    rows = max(p for p in range(1, math.isqrt(samples) + 1) if samples % p == 0)
    columns = samples // rows
    half = rows // 2 + 1  # the input is real: the other rows are conjugates of these
    inner = _rotations(rows, half, rows)  # sample, frequency
    between = _rotations(columns, half, samples)
    outer = _rotations(columns, columns, columns)
    x = ops.reshape(x, (*ops.shape(x)[:-1], rows, columns))
    x = ops.swapaxes(x, -1, -2)  # (..., columns, rows)
    real, imaginary = _rotated(_products(x, None, inner), between)
    real, imaginary = ops.swapaxes(real, -1, -2), ops.swapaxes(imaginary, -1, -2)
    real, imaginary = _products(real, imaginary, outer)  # (..., half, columns)
    power = ops.reshape(real * real + imaginary * imaginary, (*ops.shape(x)[:-2], half * columns))
    return ops.take(power, _places(samples, rows, columns), axis=-1)


def _rotations(samples, frequencies, period):
    """Computes real and imaginary parts of exp(-2 pi i n k / period), shape `(samples,
    frequencies)`."""
    turns = np.outer(np.arange(samples), np.arange(frequencies)) % period / period
    return np.cos(2 * np.pi * turns), -np.sin(2 * np.pi * turns)


def _products(real, imaginary, matrix):
    """Computes real and imaginary parts of a matrix product. `imaginary` is None for real
    inputs."""
    cosine, sine = (ops.cast(part, real.dtype) for part in matrix)
    if imaginary is None:
        return ops.matmul(real, cosine), ops.matmul(real, sine)
    return (
        ops.matmul(real, cosine) - ops.matmul(imaginary, sine),
        ops.matmul(real, sine) + ops.matmul(imaginary, cosine),
    )


def _rotated(parts, rotation):
    """Multiplies complex numbers by rotations, entry by entry. Returns the real and the imaginary
    part."""
    real, imaginary = parts
    cosine, sine = (ops.cast(part, real.dtype) for part in rotation)
    return real * cosine - imaginary * sine, real * sine + imaginary * cosine


def _places(samples, rows, columns):
    """Returns the index of each frequency in a flattened array. Entry (k1, k2) of the array has the
    frequency k1 + rows * k2. If the array does not contain a frequency, the function returns the
    index of the conjugate frequency."""
    k = np.arange(samples // 2 + 1)
    k = np.where(k % rows <= rows // 2, k, (samples - k) % samples)
    return (k % rows) * columns + k // rows
