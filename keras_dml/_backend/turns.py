"""A function of a batch in turns: part after part, of which no activation is kept."""

import functools

from keras_dml._backend import keras, ops


def in_turns(function, weights, state, inputs, turns, output):
    """Outputs of a function of the parts of a batch, whose gradient computes each part again.

    Both ways are one loop, whatever the number of turns. The second starts from the same state as
    the first, so that it draws the same random numbers.

    Args:
        function: Function of weights, state and one part of the inputs that returns an output and
            the next state, a list of tensors like `state`.
        weights: List of tensors, the only ones that get a gradient.
        state: List of tensors.
        inputs: Tuple of tensors, shape `(size, turns, ...)`; part i is `[:, i]` of each.
        turns: Number of parts, an int, or a scalar tensor on TensorFlow.
        output: Symbolic output of the function, for its type and its shape behind `size`.

    Returns:
        Outputs, shape `(turns, size, ...)`, and the last state.

    Raises:
        NotImplementedError: On another backend than TensorFlow or JAX.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        return _on_tensorflow(function, weights, state, inputs, turns, output)
    if backend == "jax":
        return _on_jax(function, weights, state, inputs, turns)
    raise NotImplementedError(
        f"Batches are embedded in turns on TensorFlow and JAX. Keras runs on {backend!r}; set the "
        "environment variable KERAS_BACKEND before Keras is imported."
    )


def _part(inputs, i):
    return tuple(one[:, i] for one in inputs)


def _on_tensorflow(function, weights, state, inputs, turns, output):
    import tensorflow as tf

    # variables would be read again in the second pass, after they have moved
    weights, state = ([tf.identity(one) for one in given] for given in (weights, state))

    def loop(body, *start):
        """One turn at a time, since several at once would need memory for several."""
        return tf.while_loop(lambda i, *_: i < turns, body, (0, *start), parallel_iterations=1)[1:]

    @tf.custom_gradient
    def embedded(*weights):
        def forward(i, outputs, state):
            found, state = function(weights, state, _part(inputs, i))
            return i + 1, tf.tensor_scatter_nd_update(outputs, [[i]], found[None]), state

        def gradient(upstream, *_):
            def backward(i, sums, state):
                with tf.GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch(weights)
                    found, state = function(weights, state, _part(inputs, i))
                parts = tape.gradient(
                    found, weights, output_gradients=upstream[i], unconnected_gradients="zero"
                )
                return i + 1, [a + b for a, b in zip(sums, parts, strict=True)], state

            return loop(backward, [tf.zeros_like(one) for one in weights], state)[0]

        shape = (turns, ops.shape(inputs[0])[0], *output.shape[1:])
        found, end = loop(forward, tf.zeros(shape, output.dtype), state)
        return (found, *end), gradient

    found, *end = embedded(*weights)
    return found, end


def _on_jax(function, weights, state, inputs, turns):
    import jax

    moving = _moving(function, weights, state, _part(inputs, 0))

    def with_moved(values):
        moved = dict(zip(moving, values, strict=True))
        return [moved.get(k, one) for k, one in enumerate(state)]

    # the barriers that it sets by default are for straight code, not for a loop
    @functools.partial(jax.checkpoint, prevent_cse=False)
    def turn(values, i):
        found, after = function(weights, with_moved(values), _part(inputs, i))
        return [after[k] for k in moving], found

    start = [state[k] for k in moving]
    values, found = jax.lax.scan(turn, start, jax.numpy.arange(turns))
    return found, with_moved(values)


def _moving(function, weights, state, part):
    """Indices of the state that a turn changes. The loop keeps these of each turn, and would keep
    the frozen weights of a large network as often."""
    import jax

    moving = []

    def watched(state):
        found, after = function(weights, state, part)
        pairs = enumerate(zip(state, after, strict=True))
        moving.extend(k for k, (old, new) in pairs if new is not old)
        return found

    jax.eval_shape(watched, state)
    return moving
