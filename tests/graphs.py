"""Functions that compile a function to one graph without changing its precision.

Finite differences call a function hundreds of times, so compiling the function saves time.
"""

import numpy as np

from keras_dml._backend import keras, ops


def graph(function):
    """Compiles a function by `tf.function` on TensorFlow or `jax.jit` on JAX. The result takes and
    returns NumPy arrays."""
    if keras.backend.backend() == "jax":
        import jax

        compiled = jax.jit(function)
    else:
        import tensorflow as tf

        compiled = tf.function(function, autograph=False)
    return lambda *arrays: np.asarray(compiled(*map(ops.convert_to_tensor, arrays)))


def with_xla(function):
    """Compiles a function of tensors with XLA on each backend."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, jit_compile=True, autograph=False)


def compiled_by_xla(graph):
    """Returns True if a TensorFlow graph calls a function that XLA must compile."""
    functions = graph.as_graph_def().library.function
    return any(function.attr["_XlaMustCompile"].b for function in functions)
