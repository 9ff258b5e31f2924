"""Copies a model, and changes its precision or the solver of its matrix layers."""

from keras_dml._backend import keras
from keras_dml.layers.matrices import functions

SPECTRAL = ("keras_dml>LogEig", "keras_dml>ReEig", "keras_dml>TangentMap")


def with_solver(model: keras.Model, solver: str) -> keras.Model:
    """Copies a model and changes the solver of its layers `ReEig`, `LogEig` and `TangentMap`. The
    copy has the same weights and is not compiled. Use `"eigh"` for training, because it is exact.
    Runtimes on devices cannot compute eigendecompositions. `keras_dml.export.tflite` therefore
    converts a copy with the solver `"polynomial"`, which needs no eigendecomposition.

    Args:
        model: A built `keras.Model` whose classes are all registered in Keras.
        solver: Method that computes functions of matrices, `"eigh"` or `"polynomial"`.

    Returns:
        A `keras.Model`.

    Raises:
        ValueError: If the solver is unknown.

    Example:
        >>> model = keras_dml.models.spdnet((4, 3, 2))
        >>> with_solver(model, "polynomial").get_layer("tangent").logarithm.solver
        'polynomial'
    """
    functions(solver)

    def change(part):
        if part.get("registered_name") in SPECTRAL:
            part["config"]["solver"] = solver

    return _copy(model, change)


def in_float64(model: keras.Model) -> keras.Model:
    """Returns a copy of a model that has the same weights and computes in float64.

    Args:
        model: A built `keras.Model` whose classes are all registered in Keras.
    """

    def change(part):
        if part.get("class_name") == "DTypePolicy":
            part["config"]["name"] = "float64"
        if part.get("class_name") == "InputLayer":
            part["config"]["dtype"] = "float64"

    return _copy(model, change)


def _copy(model, change):
    """Copies a model. Before building the copy, applies `change` to every dict in the configuration
    of the model.
    """
    config = keras.saving.serialize_keras_object(model)
    config.pop("compile_config", None)
    _visit(config, change)
    # Custom code in the configuration is safe, because the configuration comes from an object in
    # memory, not from a file.
    copy = keras.saving.deserialize_keras_object(config, safe_mode=False)
    copy.set_weights(model.get_weights())
    return copy


def _visit(part, change):
    if isinstance(part, dict):
        change(part)
    if isinstance(part, (dict, list, tuple)):
        for inner in part.values() if isinstance(part, dict) else part:
            _visit(inner, change)
