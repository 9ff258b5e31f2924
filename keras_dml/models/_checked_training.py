"""Provides the base class of models that check the arrays passed to `fit`, `evaluate` and
`predict`.
"""

import inspect

from keras_dml._backend import keras


def _with_keras_signature(method):
    """Gives an overriding method the signature of the overridden `keras.Model` method."""
    method.__signature__ = inspect.signature(getattr(keras.Model, method.__name__))
    return method


class CheckedTraining(keras.Model):
    """Base class of models that check their arrays, and whose loss needs both scores and
    embeddings.

    A subclass implements `_check_inputs(x)` and `_check_targets(x, y, training)`, which raise
    errors for invalid arrays. The `call` of the subclass returns the result of `_outputs`.
    """

    _is_evaluating = False

    @_with_keras_signature
    def fit(self, *args, **kwargs):
        """Checks the training and validation arrays, and then trains as `keras.Model.fit` does.

        Raises:
            TypeError: If inputs or labels are not numbers.
            ValueError: If sample or class weights are given, if labels are missing, if a label is
                not a class, or if the model does not accept the size, type or range of the inputs.
        """
        arguments = _bound_arguments("fit", self, args, kwargs)
        refuse_weights(self, arguments.get("sample_weight"), arguments.get("class_weight"))
        self._check(arguments.get("x"), arguments.get("y"), training=True)
        validation = arguments.get("validation_data")
        if isinstance(validation, (tuple, list)):
            x, y, weights = keras.utils.unpack_x_y_sample_weight(validation)
            refuse_weights(self, weights)
            self._check(x, y, training=False)
        return super().fit(*args, **kwargs)

    @_with_keras_signature
    def evaluate(self, *args, **kwargs):
        """Checks the arrays, and then evaluates as `keras.Model.evaluate` does.

        Raises:
            TypeError: Same as in `fit`.
            ValueError: Same as in `fit`.
        """
        arguments = _bound_arguments("evaluate", self, args, kwargs)
        refuse_weights(self, arguments.get("sample_weight"))
        self._check(arguments.get("x"), arguments.get("y"), training=False)
        return super().evaluate(*args, **kwargs)

    @_with_keras_signature
    def predict(self, *args, **kwargs):
        """Checks the arrays, and then predicts as `keras.Model.predict` does.

        Raises:
            TypeError: If the inputs are not numbers.
            ValueError: If the model does not accept the size, type or range of the inputs.
        """
        self._check_inputs(_bound_arguments("predict", self, args, kwargs)["x"])
        return super().predict(*args, **kwargs)

    def test_step(self, *args):
        """Evaluates a batch as `keras.Model.test_step` does, and also passes the embeddings to the
        loss.
        """
        self._is_evaluating = True
        try:
            return super().test_step(*args)
        finally:
            self._is_evaluating = False

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        scores = y_pred["scores"] if isinstance(y_pred, dict) else y_pred
        return super().compute_metrics(x, y, scores, sample_weight)

    def _check(self, x, y, training):
        self._check_targets(x, y, training)
        self._check_inputs(x)

    def _outputs(self, embedding, scores, training):
        """Returns the result of `call`: scores, or a dict of embeddings and scores if the loss
        needs both.
        """
        if training or self._is_evaluating:
            return {"embedding": embedding, "scores": scores}
        return scores


def _bound_arguments(name, model, args, kwargs):
    """Returns a dict from names to values of the arguments that a `keras.Model` method received."""
    return inspect.signature(getattr(keras.Model, name)).bind(model, *args, **kwargs).arguments


def refuse_weights(model: keras.Model, *weights: object) -> None:
    """Raises an error if sample weights or class weights are given.

    Args:
        model: Model that received the weights.
        *weights: Sample weights and class weights, which must all be None.

    Raises:
        ValueError: If an entry of `weights` is not None.
    """
    if any(weight is not None for weight in weights):
        raise ValueError(
            f"{type(model).__name__} takes no `sample_weight` and no `class_weight`, because its "
            "losses compare pairs of rows, which have no weights. Draw important rows more often "
            "instead."
        )
