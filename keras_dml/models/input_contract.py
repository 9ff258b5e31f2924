"""Adds an input contract (channel names, unit and sample rate) to an existing model."""

from keras_dml._backend import keras
from keras_dml.layers.input_contract import InputContract


def with_contract(model: keras.Model, contract: InputContract) -> keras.Model:
    """Returns a model that has the same layers and weights, and an input contract after its input.

    Args:
        model: A built functional or sequential `keras.Model` with one input.
        contract: A layer `keras_dml.layers.InputContract`.

    Returns:
        A `keras.Model` that shares the layers of `model` and is not compiled.

    Raises:
        ValueError: If the model already has a contract, or if the model and the contract have
            different numbers of channels.

    Example:
        >>> model = keras_dml.models.sequence_encoder(3)
        >>> contract = keras_dml.layers.InputContract(["x", "y", "z"], "g", rate_hz=100)
        >>> with_contract(model, contract).layers[1].contract.rate_hz
        100
    """
    if any(hasattr(layer, "contract") for layer in model._flatten_layers()):
        raise ValueError(
            f"The model {model.name!r} already has an input contract. Keep this contract, or build "
            "the model again without a contract."
        )
    old_input = model.inputs[0]
    start = keras.Input(old_input.shape[1:], dtype=old_input.dtype, name=old_input.name)
    if isinstance(model, keras.Sequential):
        return keras.Sequential([start, contract, *model.layers], name=model.name)
    checked = contract(start)

    def call_after_contract(layer, *args, **kwargs):
        args = keras.tree.map_structure(lambda x: checked if x is start else x, args)
        return layer(*args, **kwargs)

    clone = keras.models.clone_model(
        model,
        input_tensors=start,
        clone_function=lambda layer: layer,
        call_function=call_after_contract,
    )
    return keras.Model(start, clone.output, name=model.name)
