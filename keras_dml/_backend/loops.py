"""Provides a loop with a fixed number of iterations. The loop has a gradient on all backends."""

from keras_dml._backend import keras, ops


def repeated(turns, body, state):
    """Applies `state = body(i, state)` for i from 0 to `turns - 1`, as one loop of the graph.

    To compute the gradient of a loop, XLA on TensorFlow needs an upper bound of the number of
    iterations. Loops of JAX have no argument for an upper bound. In an eager call, TensorFlow first
    traces the loop, because a loop of separate operations takes three times as long.

    Args:
        turns: Number of iterations, an int.
        body: Function `body(i, state)` that returns the next state. `i` is the number of the
            iteration, an int32 scalar.
        state: Nested structure of tensors.

    Returns:
        State after the last iteration.
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
    # A concrete function avoids TensorFlow's warning about retracing. Many layers that are each
    # called once would cause this warning.
    return tf.function(loop, autograph=False).get_concrete_function(*state)(*state)
