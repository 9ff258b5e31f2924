"""Trains an encoder of matrices with one Riemannian potato per class (Kim2020). A Riemannian potato
is an outlier detector, which models the distances of matrices to their mean.
"""

from typing import Any, Self

import numpy as np

from keras_dml._arrays import finite, whole
from keras_dml._backend import keras, ops
from keras_dml._typing import ArrayLike, Recordings, Tensor
from keras_dml.labels import checked_labels
from keras_dml.layers.class_potatoes import ClassPotatoes
from keras_dml.losses.pairs import classes_present
from keras_dml.losses.potato import PotatoRankingLoss, potato_ids, query_scores


@keras.saving.register_keras_serializable(package="keras_dml")
class PotatoNetwork(keras.Model):
    """Encoder of positive definite matrices that is trained by `PotatoRankingLoss` (Kim2020,
    Algorithm 1).

    In inference, the network has the same input, output and distance as its encoder. The additional
    weights in `network.potatoes` store the statistics of one Riemannian potato per class. Each step
    scores the embeddings by the current statistics and then updates the statistics once with the
    embeddings of the batch. (Algorithm 1 of Kim2020 updates the statistics after each row of the
    batch, so its result depends on the order of the rows.) Model files contain the statistics, so
    training can continue with a loaded network. To publish a model, use `network.encoder`, which
    shares its weights with the network.

    Call `calibrate` once before `fit`, because training needs initial statistics. The statistics
    lag behind the embeddings, because training changes the encoder. The callback `recalibration`
    therefore measures the statistics again after each epoch.

    `fit` also logs four values, each as a mean over the batches. `positives` and `negatives` count
    the rows that hard mining selects for a query. `log_mu` and `log_sigma` are statistics of the
    potatoes, as means over the classes.

    Args:
        encoder: A functional or sequential `keras.Model` that returns positive definite matrices,
            shape `(batch, n, n)`, such as `spdnet(sizes, output="spd")`.
        classes: Number of classes. Labels are 0 to `classes - 1`.
        update_rate: Update rate of the statistics (see `keras_dml.layers.ClassPotatoes`). By
            default, the rate is 1 divided by the number of matrices in the statistics, as in
            Kim2020.

    Raises:
        ValueError: If the outputs of the encoder are not matrices, or if an argument is out of
            range. Training also raises a ValueError if the compiled loss is not a
            `PotatoRankingLoss`, or if `calibrate` was not called before.

    Example:
        >>> encoder = keras_dml.models.spdnet((4, 2), output="spd")
        >>> network = PotatoNetwork(encoder, classes=2)
        >>> x = np.stack([np.diag([1.0, 2, 3, 4 + i]) for i in range(6)]).astype("float32")
        >>> y = np.array([0, 0, 0, 1, 1, 1])
        >>> network.calibrate(x, y)
        >>> network.compile("sgd", keras_dml.losses.PotatoRankingLoss())
        >>> history = network.fit(x, y, verbose=0)
        >>> network.potatoes.count.numpy()
        array([6., 6.], dtype=float32)
    """

    def __init__(
        self,
        encoder: keras.Model,
        classes: int,
        *,
        update_rate: float | None = None,
        name: str = "potato_network",
        **kwargs: Any,
    ):
        _check_encoder(encoder)
        super().__init__(encoder.inputs[0], encoder.outputs[0], name=name, **kwargs)
        self.encoder = encoder
        self.potatoes = ClassPotatoes(classes, update_rate=update_rate, name="potatoes")
        self.potatoes.build(encoder.output_shape)
        self._logged = [
            keras.metrics.Mean(name) for name in ("positives", "negatives", "log_mu", "log_sigma")
        ]

    def fit(self, x=None, y=None, *args: Any, **kwargs: Any) -> keras.callbacks.History:
        """Checks the arrays, and then trains as `keras.Model.fit` does.

        Raises:
            TypeError: If an array holds values other than numbers.
            ValueError: If an array holds NaN or infinity, or if a label is not a class id.
        """
        if isinstance(x, np.ndarray):
            finite("`x`", x)
            checked_labels(y, len(x), self.potatoes.classes)
        return super().fit(x, y, *args, **kwargs)

    def call(
        self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None
    ) -> Tensor:
        return self.encoder(inputs, training=training, mask=mask)

    def compute_loss(
        self,
        x: Tensor | None = None,
        y: Tensor | None = None,
        y_pred: Tensor | dict[str, Any] | None = None,
        sample_weight: None = None,
        training: bool = True,
    ) -> Tensor:
        """Computes the loss of a batch. In training, the method then updates the statistics."""
        if not isinstance(self.loss, PotatoRankingLoss):
            raise ValueError(
                "PotatoNetwork needs `compile(optimizer, PotatoRankingLoss())`. Received "
                f"loss={self.loss!r}. To use another loss, train `network.encoder`."
            )
        labels = potato_ids(y, self.potatoes.classes)
        present, columns = classes_present(labels, self.potatoes.classes)
        values = self.potatoes.log_distances(y_pred, present)  # (present, batch)
        scores = self.potatoes.scores(values, present)  # (batch, present)
        loss = super().compute_loss(x, columns, scores, sample_weight, training)
        self._log(columns, ops.stop_gradient(scores))
        if training:
            # log distance of each row to the center of its class
            class_values = ops.take_along_axis(values, ops.maximum(columns, 0)[None, :], axis=0)[0]
            self.potatoes.update(y_pred, labels, class_values)
        return loss

    def calibrate(
        self,
        x: Recordings,
        y: ArrayLike,
        *,
        samples: int = 100,
        seed: int = 0,
        batch_size: int = 32,
    ) -> None:
        """Measures the statistics of each class from samples of the class (Kim2020, Eqs. 7-9).

        Args:
            x: Inputs of the encoder, an array or a list of arrays, which may differ in length.
            y: Class ids, shape `(len(x),)`.
            samples: Maximum number of samples per class (N_I in Kim2020), which are drawn without
                replacement.
            seed: Seed of the random draw.
            batch_size: Number of inputs per call of the encoder.

        Raises:
            TypeError: If an input holds values other than real numbers, or if a label is a name.
            ValueError: If a class has fewer than two samples, if a label is not a class id, if an
                input or its embedding is not finite, or if an embedding is not positive definite.
        """
        batch_size = whole("batch_size", batch_size, minimum=1)
        samples = whole("samples", samples, minimum=2)
        y = checked_labels(y, len(x), self.potatoes.classes)
        rng = np.random.default_rng(seed)
        rows = [rng.permutation(np.flatnonzero(y == label))[:samples] for label in np.unique(y)]
        rows = np.concatenate(rows)
        inputs = [finite(f"Input {row} of `x`", x[row]) for row in rows]
        self.potatoes.calibrate(self._embed(inputs, batch_size), y[rows])

    def recalibration(
        self,
        x: Recordings,
        y: ArrayLike,
        *,
        samples: int = 100,
        seed: int = 0,
        batch_size: int = 32,
    ) -> keras.callbacks.Callback:
        """Returns a callback for `fit` that calls `calibrate` after each epoch.

        In the list of callbacks, put this callback before callbacks that save the model.

        Args:
            x: Inputs of the encoder, as in `calibrate`.
            y: Class ids, as in `calibrate`.
            samples: Maximum number of samples per class, as in `calibrate`.
            seed: Seed of the random draw, as in `calibrate`.
            batch_size: Number of inputs per call of the encoder, as in `calibrate`.

        Returns:
            A `keras.callbacks.Callback`.
        """
        return keras.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: self.calibrate(
                x, y, samples=samples, seed=seed, batch_size=batch_size
            )
        )

    def make_train_function(self, *args, **kwargs):
        self.potatoes.check_calibrated()
        return super().make_train_function(*args, **kwargs)

    def make_test_function(self, *args, **kwargs):
        self.potatoes.check_calibrated()
        return super().make_test_function(*args, **kwargs)

    def _embed(self, inputs, batch_size):
        """Computes embeddings of inputs with different lengths. Each batch contains inputs of equal
        length.
        """
        by_length = {}
        for row, x in enumerate(inputs):
            by_length.setdefault(len(x), []).append(row)
        embeddings = np.empty((len(inputs), *self.output_shape[1:]), np.float32)
        for rows in by_length.values():
            for start in range(0, len(rows), batch_size):
                batch = rows[start : start + batch_size]
                output = self(np.stack([inputs[row] for row in batch]), training=False)
                embeddings[batch] = ops.convert_to_numpy(output)
        return embeddings

    def _log(self, columns, scores):
        outside, inside = self.loss.mined(columns, query_scores(columns, scores))
        values = (
            *(ops.sum(ops.cast(mask, "float32"), axis=1) for mask in (outside, inside)),
            self.potatoes.log_mu,
            self.potatoes.log_sigma,
        )
        for metric, value in zip(self._logged, values, strict=True):
            metric.update_state(value)

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "classes": self.potatoes.classes,
            "update_rate": self.potatoes.update_rate,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        encoder = keras.saving.deserialize_keras_object(
            config["encoder"], custom_objects=custom_objects
        )
        return cls(**{**config, "encoder": encoder})


def _check_encoder(encoder):
    shape = getattr(encoder, "output_shape", None) if getattr(encoder, "inputs", None) else None
    if not isinstance(shape, tuple) or len(shape) != 3 or None in shape[1:] or shape[1] != shape[2]:
        raise ValueError(
            "`encoder` must be a built model with one output that returns positive definite "
            'matrices, shape (batch, n, n), such as `spdnet(sizes, output="spd")`. Received '
            f"{type(encoder).__name__} with output shape {shape}."
        )
