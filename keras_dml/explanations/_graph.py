"""The operations that a recording goes through, one after the other."""

from keras_dml._backend import keras


def chain(model):
    """Operations of a model from its end on, each with the tensor that it takes.

    Args:
        model: Functional or sequential `keras.Model`.

    Returns:
        List of `(operation, tensor)`, last operation first. It ends at the input, or before an
        operation that joins several tensors.
    """
    found, tensor = [], model.outputs[0]
    while True:
        operation, node, _ = tensor._keras_history
        if isinstance(operation, keras.layers.InputLayer):
            return found
        inputs = operation._inbound_nodes[node].input_tensors
        if len(inputs) != 1:
            return found
        (tensor,) = inputs
        found.append((operation, tensor))


def reaches_the_input(model, found):
    """Whether a chain has no gap between the end of a model and its input."""
    return bool(found) and found[-1][1] is model.inputs[0]
