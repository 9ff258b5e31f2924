"""`fit`, `evaluate` and `predict` with their arrays checked before the first step."""

import inspect

from keras_dml._backend import keras
from keras_dml.models._classifier_checks import refuse_weights


def _signature_of_keras(method):
    """Gives an override of a method of `keras.Model` the signature of the original."""
    method.__signature__ = inspect.signature(getattr(keras.Model, method.__name__))
    return method


class CheckedTraining:
    """Mixin of models that train by embeddings; stands before `keras.Model` in the bases.

    A subclass writes `_check_inputs(x)` and `_check_targets(x, y, training)`, which refuse arrays,
    and ends its `call` in `_outputs`.
    """

    _evaluates = False

    @_signature_of_keras
    def fit(self, *args, **kwargs):
        """Same as `keras.Model.fit`; training and validation arrays are checked first.

        Raises:
            TypeError: If inputs or labels are not numbers.
            ValueError: For sample or class weights, missing labels, labels that are not classes,
                and inputs of another size, type or range.
        """
        given = _given("fit", self, args, kwargs)
        refuse_weights(self, given.get("sample_weight"), given.get("class_weight"))
        self._check(given.get("x"), given.get("y"), training=True)
        validation = given.get("validation_data")
        if isinstance(validation, (tuple, list)):
            x, y, weights = keras.utils.unpack_x_y_sample_weight(validation)
            refuse_weights(self, weights)
            self._check(x, y, training=False)
        return super().fit(*args, **kwargs)

    @_signature_of_keras
    def evaluate(self, *args, **kwargs):
        """Same as `keras.Model.evaluate`; arrays are checked first.

        Raises:
            TypeError: Same as in `fit`.
            ValueError: Same as in `fit`.
        """
        given = _given("evaluate", self, args, kwargs)
        refuse_weights(self, given.get("sample_weight"))
        self._check(given.get("x"), given.get("y"), training=False)
        return super().evaluate(*args, **kwargs)

    @_signature_of_keras
    def predict(self, *args, **kwargs):
        """Same as `keras.Model.predict`; arrays are checked first.

        Raises:
            TypeError: If the inputs are not numbers.
            ValueError: For inputs of another size, type or range.
        """
        self._check_inputs(_given("predict", self, args, kwargs)["x"])
        return super().predict(*args, **kwargs)

    def test_step(self, *args):
        """Same as in `keras.Model`; the loss gets the embeddings too."""
        self._evaluates = True
        try:
            return super().test_step(*args)
        finally:
            self._evaluates = False

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        scores = y_pred["scores"] if isinstance(y_pred, dict) else y_pred
        return super().compute_metrics(x, y, scores, sample_weight)

    def _check(self, x, y, training):
        self._check_targets(x, y, training)
        self._check_inputs(x)

    def _outputs(self, embedding, scores, training):
        """What `call` returns: scores, and the embeddings too if a loss follows."""
        if training or self._evaluates:
            return {"embedding": embedding, "scores": scores}
        return scores


def _given(name, model, args, kwargs):
    """Arguments that a method of `keras.Model` was given, by name."""
    return inspect.signature(getattr(keras.Model, name)).bind(model, *args, **kwargs).arguments
