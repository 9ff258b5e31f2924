"""Computes functions in float64 within a training step in float32."""

import functools

from keras_dml._backend import keras, ops


def in_float64(function):
    """Changes a function of float32 tensors so that it computes its result and its gradient in
    float64.

    The change also works on JAX without the 64-bit mode. Without this mode, an ordinary cast to
    float64 gives float32.

    Args:
        function: Function that maps floating-point tensors to one tensor, and reads no other
            tensors.

    Returns:
        Function whose result has the dtype of its first argument.
    """

    @functools.wraps(function)
    def narrow(*tensors):
        dtype = keras.backend.standardize_dtype(tensors[0].dtype)
        if dtype == "float64":
            return function(*tensors)
        if keras.backend.backend() == "jax":
            return _on_jax(function, dtype)(*tensors)
        return ops.cast(function(*(ops.cast(tensor, "float64") for tensor in tensors)), dtype)

    return narrow


def _on_jax(function, dtype):
    """Returns the float64 version of a function for JAX, with a custom gradient."""
    import jax
    import jax.numpy as jnp

    def cast(tensors, dtype):
        return tuple(jnp.asarray(tensor, dtype) for tensor in tensors)

    @jax.custom_vjp
    def narrow(*tensors):
        return forward(*tensors)[0]

    def forward(*tensors):
        with jax.enable_x64(True):
            result, pullback = jax.vjp(function, *cast(tensors, "float64"))
            return jnp.asarray(result, dtype), pullback

    def backward(pullback, upstream):
        with jax.enable_x64(True):
            return cast(pullback(jnp.asarray(upstream, "float64")), dtype)

    narrow.defvjp(forward, backward)
    return narrow
