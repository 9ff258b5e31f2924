"""Computes a function of a batch in several parts, without storing activations."""

import functools

from keras_dml._backend import keras, ops


def in_turns(function, weights, state, inputs, turns, output):
    """Computes a function on the parts of a batch. The backward pass recomputes each part.

    For any number of parts, the forward pass is one loop and the backward pass is a second loop.
    The two loops start from the same state, so that they draw the same random numbers.

    Args:
        function: Function that takes the weights, the state and one part of the inputs, and returns
            an output and the next state.
        weights: List of tensors. Only the weights get a gradient.
        state: List of tensors.
        inputs: Tuple of tensors, shape `(size, turns, ...)`. Part i is `[:, i]` of each tensor.
        turns: Number of parts, an int, or a scalar tensor on TensorFlow.
        output: Symbolic output of the function, with the dtype of the outputs and the axes that
            follow `size`.

    Returns:
        Outputs, shape `(turns, size, ...)`, and the state after the last part.

    Raises:
        NotImplementedError: If the backend is not TensorFlow or JAX.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        return _on_tensorflow(function, weights, state, inputs, turns, output)
    if backend == "jax":
        return _on_jax(function, weights, state, inputs, turns)
    raise NotImplementedError(
        f"Only TensorFlow and JAX can embed a batch in several parts. Keras runs on {backend!r}. "
        "Set the environment variable KERAS_BACKEND before Keras is imported."
    )


def _part(inputs, i):
    return tuple(x[:, i] for x in inputs)


def _on_tensorflow(function, weights, state, inputs, turns, output):
    import tensorflow as tf

    # Without copies, the backward pass would read the variables again, after training has changed
    # them.
    weights, state = (list(map(tf.identity, tensors)) for tensors in (weights, state))

    def loop(body, *start):
        """Runs one iteration of a loop at a time. Parallel iterations would need the memory of all
        parts at once.
        """
        return tf.while_loop(lambda i, *_: i < turns, body, (0, *start), parallel_iterations=1)[1:]

    @tf.custom_gradient
    def embedded(*weights):
        def forward(i, outputs, state):
            part_output, state = function(weights, state, _part(inputs, i))
            return i + 1, tf.tensor_scatter_nd_update(outputs, [[i]], part_output[None]), state

        def gradient(upstream, *_):
            def backward(i, sums, state):
                with tf.GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch(weights)
                    part_output, state = function(weights, state, _part(inputs, i))
                parts = tape.gradient(
                    part_output, weights, output_gradients=upstream[i], unconnected_gradients="zero"
                )
                return i + 1, [a + b for a, b in zip(sums, parts, strict=True)], state

            return loop(backward, list(map(tf.zeros_like, weights)), state)[0]

        shape = (turns, ops.shape(inputs[0])[0], *output.shape[1:])
        outputs, end = loop(forward, tf.zeros(shape, output.dtype), state)
        return (outputs, *end), gradient

    outputs, *end = embedded(*weights)
    return outputs, end


def _on_jax(function, weights, state, inputs, turns):
    import jax

    moving = _moving(function, weights, state, _part(inputs, 0))

    def with_values(values):
        changed = dict(zip(moving, values, strict=True))
        return [changed.get(k, tensor) for k, tensor in enumerate(state)]

    # The barriers of `prevent_cse` are needed only outside of loops.
    @functools.partial(jax.checkpoint, prevent_cse=False)
    def turn(values, i):
        output, after = function(weights, with_values(values), _part(inputs, i))
        return [after[k] for k in moving], output

    start = [state[k] for k in moving]
    values, outputs = jax.lax.scan(turn, start, jax.numpy.arange(turns))
    return outputs, with_values(values)


def _moving(function, weights, state, part):
    """Returns the indices of the state tensors that an iteration changes.

    For each iteration, the loop stores only the tensors that change. If the loop stored the whole
    state, it would also store the frozen weights of a large network for each iteration.
    """
    import jax

    moving = []

    def watched(state):
        output, after = function(weights, state, part)
        pairs = enumerate(zip(state, after, strict=True))
        moving.extend(k for k, (old, new) in pairs if new is not old)
        return output

    jax.eval_shape(watched, state)
    return moving
