"""Compiles functions with XLA, which combines many passes over memory into one pass. Functions of
exported files are not compiled, because these files must run without XLA. If TensorFlow uses a GPU,
this module does not compile functions, because Keras compiles the whole step with XLA by default.
"""

import contextlib
import contextvars

from keras_dml._backend import keras, ops

_AVOIDED = contextvars.ContextVar("avoided", default=False)


@contextlib.contextmanager
def avoided():
    """Disables XLA within the block. Graphs that the block creates can then run without XLA."""
    token = _AVOIDED.set(True)
    try:
        yield
    finally:
        _AVOIDED.reset(token)


def is_avoided():
    """Returns True within a block of `avoided`. Graphs that are created in this block must not need
    XLA."""
    return _AVOIDED.get()


def is_used():
    """Returns True if functions can be compiled with XLA. JAX always compiles. TensorFlow compiles
    if there is no GPU and the code is outside a block of `avoided`.
    """
    if keras.backend.backend() != "tensorflow":
        return True
    import tensorflow as tf

    return not (is_avoided() or tf.config.get_visible_devices("GPU"))


def is_traced():
    """Returns True while TensorFlow traces a graph in which functions can be compiled with XLA."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return is_used() and not tf.executing_eagerly()


def is_compiling():
    """Returns True if XLA will compile the graph that TensorFlow traces (`jit_compile=True`)."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf
    from tensorflow.python.ops import control_flow_util  # no public function exists

    return control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())


def compiled(function):
    """Compiles a function with XLA on TensorFlow, once for each shape and without a gradient.

    The function is returned unchanged if the backend is JAX or XLA is not used.
    """
    if keras.backend.backend() != "tensorflow" or not is_used():
        return function
    import tensorflow as tf

    return tf.function(function, jit_compile=True, autograph=False, reduce_retracing=True)


def traced(function):
    """Traces a function once for each shape. On JAX, XLA also compiles the function. On TensorFlow,
    the traced function is not compiled.
    """
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, autograph=False, reduce_retracing=True)


def fused(function):
    """Compiles a function and its gradient with XLA, once for each shape.

    In a TensorFlow graph, the forward-mode derivative of the compiled function raises
    NotImplementedError.
    """
    if keras.backend.backend() == "jax":
        return traced(function)
    return _differentiable(compiled(function), function)


def compiles_each_shape():
    """Returns True if the first call with each new shape compiles the function again."""
    return keras.backend.backend() == "jax"


def compiles_eigh():
    """Returns True if XLA may compile an eigendecomposition.

    On TensorFlow, the eigendecomposition of XLA is many times slower than the eigendecomposition of
    TensorFlow. For 64 matrices of 80 x 80 on a CPU, XLA takes 744 ms, and TensorFlow takes 12 ms.
    """
    return keras.backend.backend() != "tensorflow"


def _differentiable(fast, plain):
    """Returns a TensorFlow function whose forward pass is compiled with XLA, and whose gradient is
    computed without XLA.

    A gradient tape must not record the compiled function. The backward pass of a loop needs values
    that the loop stored inside XLA, and TensorFlow cannot read these values.

    Args:
        fast: Compiled function of tensors.
        plain: The same function without compilation by XLA.

    Returns:
        Function with the same values as `fast`. In a graph, the forward-mode derivative of this
        function raises NotImplementedError.
    """
    import tensorflow as tf

    @tf.custom_gradient
    def hidden(argument):
        def forward_mode(_):
            raise NotImplementedError(
                "`tf.autodiff.ForwardAccumulator` cannot compute a forward-mode derivative of a "
                "function that XLA has compiled. Compute the derivative outside `tf.function`, or "
                "use `tf.GradientTape`."
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
    """Pads a tensor with rows of zeros up to the next allowed number of rows, so that only few
    sizes are compiled.

    Args:
        x: Tensor, shape `(n, ...)`.
        sizes: Number of different sizes that are allowed between a power of two and the next power
            of two.
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
