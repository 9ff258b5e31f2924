"""An input contract for a model that exists already."""

from keras_dml._backend import keras


def with_contract(model, contract):
    """A model of the same layers and weights, with its input contract in front.

    Args:
        model: A built functional or sequential `keras.Model` of one input.
        contract: A layer `keras_dml.layers.InputContract`.

    Returns:
        A `keras.Model` that shares the layers of `model`, not compiled.

    Raises:
        ValueError: If the model carries a contract, or takes another number of channels.

    Example:
        >>> model = keras_dml.models.sequence_encoder(3)
        >>> contract = keras_dml.layers.InputContract(["x", "y", "z"], "g", rate_hz=100)
        >>> with_contract(model, contract).layers[1].contract.rate_hz
        100
    """
    if any(hasattr(layer, "contract") for layer in model._flatten_layers()):
        raise ValueError(
            f"The model {model.name!r} carries an input contract already. Leave it as it is, or "
            "build the model anew."
        )
    given = model.inputs[0]
    start = keras.Input(given.shape[1:], dtype=given.dtype, name=given.name)
    if isinstance(model, keras.Sequential):
        return keras.Sequential([start, contract, *model.layers], name=model.name)
    passed = contract(start)

    def behind(layer, *args, **kwargs):
        args = keras.tree.map_structure(lambda x: passed if x is start else x, args)
        return layer(*args, **kwargs)

    same = keras.models.clone_model(
        model, input_tensors=start, clone_function=lambda layer: layer, call_function=behind
    )
    return keras.Model(start, same.output, name=model.name)
