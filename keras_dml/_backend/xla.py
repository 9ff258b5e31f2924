"""Compilation by XLA, which fuses many passes over memory into one.

It is not used in exported files, which must run without XLA. Nor is it used with TensorFlow on a
GPU, where Keras already compiles the whole step with XLA by default.
"""

import contextlib
import contextvars

from keras_dml._backend import keras, ops

_AVOIDED = contextvars.ContextVar("avoided", default=False)


@contextlib.contextmanager
def avoided():
    """Creates graphs that do not need XLA to run, within the block."""
    token = _AVOIDED.set(True)
    try:
        yield
    finally:
        _AVOIDED.reset(token)


def is_avoided():
    """Returns True within `avoided`, while a graph is created that must run without XLA."""
    return _AVOIDED.get()


def is_used():
    """Returns True if functions can be compiled. JAX always compiles. TensorFlow compiles without a
    GPU and outside `avoided`."""
    if keras.backend.backend() != "tensorflow":
        return True
    import tensorflow as tf

    return not (is_avoided() or tf.config.get_visible_devices("GPU"))


def is_traced():
    """Returns True while TensorFlow traces a graph in which functions can be compiled."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return is_used() and not tf.executing_eagerly()


def is_compiling():
    """Returns True if XLA compiles the TensorFlow graph being traced (`jit_compile=True`)."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf
    from tensorflow.python.ops import control_flow_util  # there is no public function for this

    return control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())


def compiled(function):
    """Compiles a function with XLA on TensorFlow, once for each shape and without a gradient.

    Returns the function unchanged on JAX, and if XLA is not used.
    """
    if keras.backend.backend() != "tensorflow" or not is_used():
        return function
    import tensorflow as tf

    return tf.function(function, jit_compile=True, autograph=False, reduce_retracing=True)


def traced(function):
    """Traces a function once for each shape. Only JAX compiles it with XLA."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, autograph=False, reduce_retracing=True)


def fused(function):
    """Compiles a function with XLA once for each shape, with its gradient.

    On TensorFlow in a graph its forward-mode derivative raises NotImplementedError.
    """
    if keras.backend.backend() == "jax":
        return traced(function)
    return _differentiable(compiled(function), function)


def compiles_each_shape():
    """Returns True if a call with a new shape compiles again."""
    return keras.backend.backend() == "jax"


def compiles_eigh():
    """Returns True if XLA may compile an eigendecomposition.

    The one that XLA has for TensorFlow is many times slower (64 matrices of 80 x 80 on a CPU: 744
    ms instead of 12).
    """
    return keras.backend.backend() != "tensorflow"


def _differentiable(fast, plain):
    """Gives a compiled TensorFlow function the gradient of the function that is not compiled.

    A gradient tape must not record the compiled function, because the values that a loop stores for
    its backward pass cannot leave XLA.

    Args:
        fast: Compiled function of tensors.
        plain: The same function, not compiled by XLA.

    Returns:
        The function. In a graph its forward-mode derivative raises NotImplementedError.
    """
    import tensorflow as tf

    @tf.custom_gradient
    def hidden(argument):
        def forward_mode(_):
            raise NotImplementedError(
                "A function that XLA has compiled has no forward-mode derivative "
                "(`tf.autodiff.ForwardAccumulator`). Compute it outside `tf.function`, or use "
                "`tf.GradientTape`."
            )

        return tf.identity(argument), forward_mode

    @tf.custom_gradient
    def function(*arguments):
        def gradient(*upstream):
            with tf.GradientTape() as tape:
                tape.watch(arguments)
                results = plain(*arguments)
            return tape.gradient(results, arguments, upstream)

        return fast(*(tf.stop_gradient(hidden(argument)) for argument in arguments)), gradient

    return function


def filled_up(x, sizes):
    """Pads rows `(n, ...)` with zeros to one of few numbers of rows, so that few sizes are
    compiled.

    Args:
        x: Tensor, shape `(n, ...)`.
        sizes: How many numbers of rows to allow between a power of two and the next.
    """
    rows = ops.shape(x)[0]
    if isinstance(rows, int):
        rows = max(rows, 1)
        step = max(2 ** (rows - 1).bit_length() // (2 * sizes), 1)
    else:
        rows = ops.maximum(rows, 1)
        power = ops.cast(ops.ceil(ops.log2(ops.cast(rows, "float32"))), "int32")
        step = ops.maximum(2**power // (2 * sizes), 1)
    filled = (rows + step - 1) // step * step
    missing = filled - ops.shape(x)[0]
    if isinstance(missing, int) and not missing:
        return x
    return ops.pad(x, [[0, missing]] + [[0, 0]] * (len(x.shape) - 1))
