"""XLA on TensorFlow: functions that it makes one pass of where TensorFlow alone takes many.

JAX compiles by itself. On a GPU so does Keras, the whole step; and an exported file must run where
no XLA is.
"""

import contextlib
import contextvars

from keras_dml._keras import keras

_AVOIDED = contextvars.ContextVar("avoided", default=False)


@contextlib.contextmanager
def avoided():
    """Within it no graph needs XLA to run."""
    token = _AVOIDED.set(True)
    try:
        yield
    finally:
        _AVOIDED.reset(token)


def is_avoided():
    """Whether the call is within `avoided`."""
    return _AVOIDED.get()


def compiled(function):
    """The function compiled by XLA for each shape, without a gradient; as it is where that is not
    for us to do."""
    if keras.backend.backend() != "tensorflow":
        return function
    import tensorflow as tf

    if tf.config.get_visible_devices("GPU"):
        return function
    return tf.function(function, jit_compile=True, autograph=False, reduce_retracing=True)


def differentiable(fast, plain):
    """A compiled function with the gradient of the plain one, TensorFlow only: no tape may look
    into XLA, since what a loop keeps for its backward pass cannot leave it.

    Args:
        fast: Of tensors, compiled.
        plain: The same function, not compiled by XLA.
    """
    import tensorflow as tf

    @tf.custom_gradient
    def function(*arguments):
        def gradient(*upstream):
            with tf.GradientTape() as tape:
                tape.watch(arguments)
                answers = plain(*arguments)
            return tape.gradient(answers, arguments, upstream)

        return fast(*map(tf.stop_gradient, arguments)), gradient

    return function
