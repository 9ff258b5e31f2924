"""An encoder with prototypes and a learned similarity: one model that classifies, verifies,
retrieves and takes new classes."""

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._backend.replicas import per_replica
from keras_dml.labels import checked_labels
from keras_dml.layers.prototype_similarity import PrototypeSimilarity
from keras_dml.losses.prototypes import PrototypicalLoss, known_ids
from keras_dml.models._checked_training import CheckedTraining
from keras_dml.models._class_management import ClassManagement
from keras_dml.models._classifier_checks import (
    check_encoder,
    check_loss,
    refuse_weights,
)
from keras_dml.models._prototypical_terms import batch_terms
from keras_dml.models._scoring import Scoring

AUXILIARIES = ("softmax", "am", None)
TERMS = ("class_loss", "pair_loss", "aux_loss", "positives")


@keras.saving.register_keras_serializable(package="keras_dml")
class PrototypicalClassifier(CheckedTraining, ClassManagement, Scoring, keras.Model):
    """An encoder E, prototypes C and a learned similarity S, trained together (Monteiro2020,
    Algorithm 1).

    `model(x)` returns the scores `S(E(x), C)`, logits of the classes. Each training step first
    moves the prototypes by the embeddings of the batch, then computes the three terms of
    `PrototypicalLoss` with them; no gradient goes through a prototype. Prototypes are weights, so a
    saved and loaded model continues training like the original. Compile with an optimizer and, for
    other weights or smoothing, a `keras_dml.losses.PrototypicalLoss`.

    Batches need several examples of a class (`keras_dml.samplers.PKSampler`; with ten classes any
    batch of 64 will do). `fit` logs the three terms and `positives`, the pairs of one class in a
    batch; each is a mean over batches, weighted by their rows.

    `evaluate` and validation compute the same terms with the same weights, in inference mode and
    without moving a prototype, so `val_loss` is comparable with `loss`. The pair term compares the
    rows of one batch with each other, and Keras does not shuffle validation data: give it in random
    order or by a sampler, in batches as large as those of training. In data sorted by class a batch
    has pairs of one kind only, and the other kind counts as 0; `val_positives` shows it. Classes
    that were added after training have no unit in the auxiliary head, and their rows are left out
    of the auxiliary term.

    A label that is not a class is refused, in arrays before the first step. In pipelines of data
    nothing can be raised in a compiled training step: its loss is NaN with gradient 0, and no
    prototype moves; an evaluation stops with an error. On several replicas prototypes follow the
    global batch, and pairs are those of each replica.

    Args:
        encoder: A built `keras.Model` of one input that returns vectors, shape `(batch, features)`.
        classes: Number of classes; labels are 0 to `classes - 1`.
        aux: Auxiliary head "DOL" on the embeddings: `"softmax"`, a dense layer; `"am"`, additive
            margin softmax; None for none.
        name: Name of the model.
        **options: Options of `keras_dml.layers.PrototypeSimilarity`: `hidden`, `dropout`,
            `symmetry`, `decay`, `init`, `class_names`, ...

    Raises:
        ValueError: If the encoder's output is not vectors, or an argument is out of range.

    Example:
        >>> encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        >>> model = keras_dml.models.PrototypicalClassifier(encoder, classes=2, hidden=8)
        >>> model.compile("adam", metrics=["accuracy"])
        >>> x = np.eye(3, dtype="float32")[[0, 0, 1, 1]]
        >>> history = model.fit(x, np.array([0, 0, 1, 1]), verbose=0)
        >>> model(x).shape, model.embed(x).shape
        (TensorShape([4, 2]), TensorShape([4, 2]))
    """

    def __init__(
        self, encoder, classes, *, aux="softmax", name="prototypical_classifier", **options
    ):
        check_encoder(encoder)
        super().__init__(name=name)
        self.supports_masking = True  # the encoder takes one, scores have none
        if aux not in AUXILIARIES:
            raise ValueError(f"`aux` must be one of {AUXILIARIES}. Received aux={aux!r}.")
        self.encoder = encoder
        self.prototypes_layer = PrototypeSimilarity(classes, **options, name="prototypes")
        self.aux = aux
        self.aux_head = None
        if aux is not None:
            self.aux_head = keras.layers.Dense(
                self.prototypes_layer.classes,
                use_bias=aux == "softmax",
                dtype=self.prototypes_layer.dtype,
                name="dol",
            )
        self._term_metrics = [keras.metrics.Mean(name) for name in TERMS]
        self.build(encoder.input_shape)

    def build(self, input_shape):
        shape = self.encoder.compute_output_shape(input_shape)
        for layer in (self.prototypes_layer, self.aux_head):
            if layer is not None and not layer.built:
                layer.build(shape)
        self.built = True

    def call(self, inputs, training=None, mask=None):
        """Scores, shape `(batch, classes)`; in training and in an evaluation a dict of the
        embeddings and of their scores by the prototypes before the step, for metrics."""
        embedding = self._encoded(inputs, training, mask)
        return self._outputs(embedding, self.prototypes_layer(embedding, training=False), training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss of a batch; in training the prototypes move before it.

        Args:
            x: Inputs, shape `(batch, ...)`.
            y: Class ids, shape `(batch,)`.
            y_pred: What `call` returns in training, a dict with the embeddings; without them `x` is
                embedded.
            sample_weight: None; weights are refused.
            training: Whether the prototypes move and dropout is active.
        """
        refuse_weights(self, sample_weight)
        known = isinstance(y_pred, dict)
        z = y_pred["embedding"] if known else self._encoded(x, training)
        return self.objective(y, z, self._prototypical_loss, training=training, extra=self.losses)

    def objective(self, y, z, loss, *, training, extra=(), static=None):
        """The weighted sum of the terms of a batch, which this logs; see `compute_loss`.

        Args:
            y: Class ids, shape `(batch,)`.
            z: Embeddings, shape `(batch, features)`.
            loss: A `PrototypicalLoss`, for its weights.
            training: Whether the prototypes move and dropout is active.
            extra: Further terms, scalars, such as penalties of regularizers.
            static: Whether XLA compiles the step; None: as this model was compiled.
        """
        classes = self._trained_classes if training else self.prototypes_layer.classes
        labels, valid = known_ids(y, classes)
        if training:
            self.prototypes_layer.update(z, ops.where(valid, labels, -1))
        static = self.jit_compile if static is None else static
        terms = batch_terms(self, loss, z, labels, training=training, static=static)
        for metric, value in zip(self._term_metrics, terms, strict=True):
            metric.update_state(ops.stop_gradient(value), sample_weight=ops.shape(z)[0])
        extra = [ops.cast(value, terms[0].dtype) for value in extra]
        total = sum(extra, start=loss.total(*terms[:3]))
        return per_replica(ops.where(valid, total, float("nan")))

    def terms(self, z, labels, *, training=False):
        """The terms of the compiled loss for embeddings, with the present prototypes.

        Args:
            z: Embeddings, shape `(batch, features)`.
            labels: Class ids, int32, shape `(batch,)`.
            training: Whether dropout is active.

        Returns:
            Class, pair and auxiliary term, and the number of pairs of one class; scalars. A term
            of weight 0 is not computed and is 0.
        """
        return batch_terms(
            self, self._prototypical_loss, z, labels, training=training, static=self.jit_compile
        )

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.prototypes_layer.classes)

    def get_config(self):
        head = self.prototypes_layer.get_config()
        options = {key: value for key, value in head.items() if key not in _OF_LAYERS}
        return {
            "name": self.name,
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "aux": self.aux,
            "aux_classes": head["classes"] if self.aux_head is None else self.aux_head.units,
            **options,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        encoder = keras.saving.deserialize_keras_object(
            config.pop("encoder"), custom_objects=custom_objects
        )
        trained, has_spread = config.pop("aux_classes"), config.pop("has_spread", False)
        names = config.pop("class_names")
        model = cls(encoder, **{**config, "classes": trained})
        model.prototypes_layer.make_room(names, has_spread)
        return model

    @property
    def _prototypical_loss(self):
        loss = getattr(self, "loss", None)
        check_loss(loss)
        return loss or PrototypicalLoss()

    @property
    def _trained_classes(self):
        """Number of classes that may be trained on: the first rows of the prototypes."""
        classes = self.prototypes_layer.classes
        return classes if self.aux_head is None else min(self.aux_head.units, classes)

    def _check_inputs(self, x):
        if isinstance(x, np.ndarray):
            self._checked(x)

    def _check_targets(self, x, y, training):
        check_loss(getattr(self, "loss", None))
        if y is None and isinstance(x, np.ndarray):
            raise ValueError(
                "A prototypical classifier is trained by class ids: `fit(x, y)`. Received y=None."
            )
        if not (x is None or y is None or ops.is_tensor(y)):
            classes = self._trained_classes if training else self.prototypes_layer.classes
            checked_labels(y, len(x), classes)


_OF_LAYERS = ("name", "dtype", "trainable")
