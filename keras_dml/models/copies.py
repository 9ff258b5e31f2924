"""Copies of a model with another solver or precision."""

from keras_dml._backend import keras
from keras_dml.layers.matrices import functions

SPECTRAL = ("keras_dml>LogEig", "keras_dml>ReEig", "keras_dml>TangentMap")


def with_solver(model: keras.Model, solver: str) -> keras.Model:
    """Copies a model, with another solver in its layers `ReEig`, `LogEig` and `TangentMap`.

    The copy has the same weights and is not compiled. Train with `"eigh"`, which is exact.
    `"polynomial"` needs no eigendecomposition, which devices do not have; `keras_dml.export.tflite`
    uses such a copy.

    Args:
        model: A built `keras.Model` of registered classes.
        solver: `"eigh"` or `"polynomial"`.

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
    """Returns a copy of a model that computes in float64, with the same weights.

    Args:
        model: A built `keras.Model` of registered classes.
    """

    def change(part):
        if part.get("class_name") == "DTypePolicy":
            part["config"]["name"] = "float64"
        if part.get("class_name") == "InputLayer":
            part["config"]["dtype"] = "float64"

    return _copy(model, change)


def _copy(model, change):
    """Copies a model from its configuration, after applying `change` to each dict in it."""
    config = keras.saving.serialize_keras_object(model)
    config.pop("compile_config", None)
    _visit(config, change)
    # safe: the configuration comes from a live object, not from a file of another person
    copy = keras.saving.deserialize_keras_object(config, safe_mode=False)
    copy.set_weights(model.get_weights())
    return copy


def _visit(part, change):
    if isinstance(part, dict):
        change(part)
    if isinstance(part, (dict, list, tuple)):
        for inner in part.values() if isinstance(part, dict) else part:
            _visit(inner, change)
