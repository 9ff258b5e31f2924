"""XLA, which compiles a function to one pass over memory where TensorFlow alone takes many.

Not used with TensorFlow on a GPU, where Keras lets it compile the whole step unless that is turned
off, nor in exported files, which must run without XLA.
"""

import contextlib
import contextvars

from keras_dml._backend import keras, ops

_AVOIDED = contextvars.ContextVar("avoided", default=False)


@contextlib.contextmanager
def avoided():
    """Context manager in which no graph needs XLA to run."""
    token = _AVOIDED.set(True)
    try:
        yield
    finally:
        _AVOIDED.reset(token)


def is_avoided():
    """Whether a graph is being made that must run without XLA: that of a file for devices."""
    return _AVOIDED.get()


def is_used():
    """Whether a function can be compiled: always on JAX; on TensorFlow without a GPU and outside
    `avoided`."""
    if keras.backend.backend() != "tensorflow":
        return True
    import tensorflow as tf

    return not (is_avoided() or tf.config.get_visible_devices("GPU"))


def is_traced():
    """Whether a TensorFlow graph is being traced, in which a function can be compiled."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return is_used() and not tf.executing_eagerly()


def is_compiling():
    """Returns True if XLA compiles the TensorFlow graph being traced (`jit_compile=True`)."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf
    from tensorflow.python.ops import control_flow_util  # no public function tells

    return control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())


def compiled(function):
    """The function compiled by XLA for each shape on TensorFlow, without a gradient; unchanged on
    JAX and where XLA is not used."""
    if keras.backend.backend() != "tensorflow" or not is_used():
        return function
    import tensorflow as tf

    return tf.function(function, jit_compile=True, autograph=False, reduce_retracing=True)


def traced(function):
    """The function traced for each shape; XLA compiles it on JAX only."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, autograph=False, reduce_retracing=True)


def fused(function):
    """The function compiled by XLA for each shape, with its gradient.

    On TensorFlow in a graph its forward-mode derivative raises NotImplementedError.
    """
    if keras.backend.backend() == "jax":
        return traced(function)
    return _differentiable(compiled(function), function)


def compiles_each_shape():
    """Whether a call with a new shape compiles again."""
    return keras.backend.backend() == "jax"


def compiles_eigh():
    """Whether XLA may compile an eigendecomposition; its own for TensorFlow is many times slower
    (64 matrices of 80 x 80 on a CPU: 744 ms in place of 12)."""
    return keras.backend.backend() != "tensorflow"


def _differentiable(fast, plain):
    """A compiled function with the gradient of the plain one, TensorFlow only: no tape may look
    into XLA, since what a loop keeps for its backward pass cannot leave it.

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
                "There is no forward-mode derivative (`tf.autodiff.ForwardAccumulator`) of a "
                "function that XLA has compiled. Take it outside `tf.function`, or use "
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
    """Rows `(n, ...)` padded with zeros to one of few numbers of rows, each of which compiles once.

    Args:
        x: Tensor, shape `(n, ...)`.
        sizes: Numbers of rows between a power of two and the next.
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
