"""A loop with a fixed number of turns that has a gradient on all backends."""

from keras_dml._backend import keras, ops


def repeated(turns, body, state):
    """Applies `state = body(i, state)` for i from 0 to `turns - 1`, as one loop of the graph.

    XLA on TensorFlow needs the number of turns as a bound to compute the gradient of a loop. JAX
    computes the gradient only of loops without such a bound. An eager loop of TensorFlow is traced
    first, because separate operations take three times as long.

    Args:
        turns: Number of turns, an int.
        body: Function of the turn, an int32 scalar, and the state.
        state: Nested structure of tensors.

    Returns:
        The last state.
    """
    if keras.backend.backend() != "tensorflow":
        return ops.fori_loop(0, turns, body, state)
    import tensorflow as tf

    def loop(*start):
        return ops.while_loop(
            lambda i, *_: i < turns,
            lambda i, *inner: (i + 1, *body(i, inner)),
            (ops.zeros((), "int32"), *start),
            maximum_iterations=turns,
        )[1:]

    if not tf.executing_eagerly():
        return loop(*state)
    # A concrete function does not warn of retracing, which many layers called once would cause.
    return tf.function(loop, autograph=False).get_concrete_function(*state)(*state)
