"""An encoder with prototypes and a learned similarity: one model that classifies, verifies,
retrieves and takes new classes."""

import warnings

import numpy as np

from keras_dml._arrays import finite, real, whole
from keras_dml._backend import keras, ops
from keras_dml._backend.replicas import share
from keras_dml.geometry import vector
from keras_dml.images import check_images
from keras_dml.labels import checked_labels
from keras_dml.layers.prototype_similarity import PrototypeSimilarity
from keras_dml.losses.pairs import classes_present
from keras_dml.losses.prototypes import PrototypicalLoss, additive_margin, class_term, known_ids
from keras_dml.models._choices import choose
from keras_dml.models._classifier_checks import (
    check_batch,
    check_encoder,
    check_loss,
    refuse_weights,
)

AUXILIARIES = ("softmax", "am", None)
HEADS = {"sim": "similarities to the prototypes", "dol": "logits of the auxiliary dense layer"}
BATCH = 256


@keras.saving.register_keras_serializable(package="keras_dml")
class PrototypicalClassifier(keras.Model):
    """An encoder E, prototypes C and a learned similarity S, trained together (Monteiro2020,
    Algorithm 1).

    `model(x)` are the scores `S(E(x), C)`, logits of the classes. In training the call gives the
    embeddings too, `{"embedding": E(x), "scores": ...}`: each step first moves the prototypes by
    the embeddings of the batch, then computes the three terms of `PrototypicalLoss` with them, and
    no gradient goes through a prototype. Prototypes are weights, so a saved and loaded model goes
    on training like the original. Compile with an optimizer and, for other weights or smoothing, a
    `keras_dml.losses.PrototypicalLoss`.

    Batches need several examples of a class (`keras_dml.samplers.PKSampler`; with ten classes any
    batch of 64 will do). `fit` tells the three terms and `positives`, the pairs of one class in a
    batch. A batch with a label that is no class is refused in an eager call; in a compiled step,
    where nothing can be raised, its loss is NaN with gradient 0, and no prototype moves. `evaluate`
    tells the class term alone. On several replicas prototypes follow the global batch, and pairs
    are those of each replica.

    Args:
        encoder: A built `keras.Model` of one input that gives vectors, shape `(batch, features)`.
        classes: Number of classes; labels are 0 to `classes - 1`.
        aux: Auxiliary head "DOL" on the embeddings: `"softmax"`, a dense layer; `"am"`, additive
            margin softmax; None for none.
        name: Name of the model.
        **options: Of `keras_dml.layers.PrototypeSimilarity`: `hidden`, `dropout`, `symmetry`,
            `decay`, `init`, `class_names`, ...

    Raises:
        ValueError: If the encoder's output is no vectors, or an argument is out of its range.

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
        self._told = [keras.metrics.Mean(name) for name in ("class_loss", *_TRAINING_TERMS)]
        self.build(encoder.input_shape)

    def build(self, input_shape):
        shape = self.encoder.compute_output_shape(input_shape)
        for layer in (self.prototypes_layer, self.aux_head):
            if layer is not None and not layer.built:
                layer.build(shape)
        self.built = True

    def call(self, inputs, training=None, mask=None):
        """Scores, shape `(batch, classes)`; in training a dict of the embeddings and of their
        scores by the prototypes before the step, for metrics."""
        embedding = self._encoded(inputs, training, mask)
        scores = self.prototypes_layer(embedding, training=False)
        if not training:
            return scores
        return {"embedding": embedding, "scores": ops.stop_gradient(scores)}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss of a batch; in training the prototypes move before it."""
        refuse_weights(sample_weight)
        trains = isinstance(y_pred, dict)
        known = self._trained_classes if trains else self.prototypes_layer.classes
        labels, valid = known_ids(y, known)
        if not trains:
            value = ops.mean(class_term(y_pred, labels, self._objective.label_smoothing))
            self._told[0].update_state(value)
            return share(ops.where(valid, value, float("nan")))
        z = y_pred["embedding"]
        self.prototypes_layer.update(z, ops.where(valid, labels, -1))
        terms = self.terms(z, labels, training=True)
        for metric, value in zip(self._told, terms, strict=True):
            metric.update_state(ops.stop_gradient(value))
        extra = [ops.cast(value, terms[0].dtype) for value in self.losses]
        total = sum(extra, start=self._objective.total(*terms[:3]))
        return share(ops.where(valid, total, float("nan")))

    def terms(self, z, labels, *, training=False):
        """The terms of the loss for embeddings, by the prototypes as they are.

        Args:
            z: Embeddings, shape `(batch, features)`.
            labels: Class ids, int32, shape `(batch,)`.
            training: Whether dropout is at work.

        Returns:
            Class, pair and auxiliary term, and the number of pairs of one class; scalars. A term
            of weight 0 is not computed and is 0.
        """
        z = ops.cast(z, self.prototypes_layer.dtype)
        objective = self._objective
        scores = places = pairs = logits = None
        if objective.class_weight:
            scores, places = self._class_scores(z, labels, training)
        if objective.pair_weight:
            pairs = self.prototypes_layer.similarity(z, z, training=training)
        if objective.aux_weight and self.aux == "softmax":
            logits = self.aux_head(z)
        elif objective.aux_weight and self.aux == "am":
            logits = additive_margin(self._cosines(z), labels)
        return objective.terms(labels, scores, pairs, logits, places)

    def _class_scores(self, z, labels, training):
        """Similarities to the candidates, and the column of each row's class among them."""
        layer = self.prototypes_layer
        if self._objective.candidates == "all":
            return layer(z, training=training), None
        present, places = classes_present(labels, layer.classes, static=self.jit_compile)
        chosen = ops.take(layer.prototypes, present, axis=0)
        scores = layer.similarity(z, chosen, training=training)
        return ops.where(_repeated(present), -float("inf"), scores), places

    def test_step(self, *given):
        """As of `keras.Model`; the terms of training, which a test does not have, are not told."""
        told = super().test_step(*given)
        if isinstance(told, dict):
            return _without_training_terms(told)
        told, state = told  # on JAX
        return _without_training_terms(told), state

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        scores = y_pred["scores"] if isinstance(y_pred, dict) else y_pred
        return super().compute_metrics(x, y, scores, sample_weight)

    def fit(self, x=None, y=None, *others, **kwargs):
        """As of `keras.Model`; arrays of labels and of images are checked before the first step.

        Raises:
            ValueError: For weights of rows, another loss, no labels, labels of no class, and images
                of another size, type or range.
        """
        refuse_weights(kwargs.get("sample_weight"), kwargs.get("class_weight"))
        check_loss(getattr(self, "loss", None))
        self._check_arrays(x, y)
        return super().fit(x, y, *others, **kwargs)

    def embed(self, x):
        """Embeddings E(x) of a batch in inference mode, shape `(batch, features)`; differentiable.

        `keras_dml.embed(model, inputs)` does it for any number, in batches.

        Args:
            x: A batch of inputs; images are floats in [0, 1].

        Raises:
            TypeError: If `x` is no tensor and holds other than real numbers.
            ValueError: If `x` is no batch of what the encoder takes, holds bytes of images, or is
                no tensor and holds NaN or infinity.
        """
        x = ops.convert_to_tensor(_tensor_or("`x`", x, finite))
        check_batch(x.shape, x.dtype, self.encoder.input_shape)
        return self._encoded(x, False, None)

    def scores(self, x, head="sim"):
        """Logits of a batch in inference mode, shape `(batch, classes)`; differentiable in `x`.

        Args:
            x: A batch of inputs.
            head: `"sim"`, similarities to the prototypes; `"dol"`, the auxiliary dense layer, which
                knows the classes of training alone (with `aux="am"` its cosines).

        Raises:
            ValueError: As `embed` and `head_scores`.
        """
        return self.head_scores(self.embed(x), head)

    def head_scores(self, z, head="sim"):
        """As `scores`, of embeddings.

        Args:
            z: Embeddings, shape `(batch, features)`.
            head: As of `scores`.

        Raises:
            ValueError: For another head, or `"dol"` of a model without the auxiliary layer.
        """
        choose("head", head, HEADS)
        z = ops.convert_to_tensor(_tensor_or("`z`", z, real))
        if head == "sim":
            return self.prototypes_layer(z, training=False)
        if self.aux_head is None:
            raise ValueError(
                'The model was made with `aux=None` and has no "dol" head. Ask for head="sim".'
            )
        z = ops.cast(z, self.prototypes_layer.dtype)
        return self.aux_head(z) if self.aux == "softmax" else self._cosines(z)

    def similarity(self, x, y):
        """S of all pairs of embeddings, shape `(n, m)`; great is alike.

        Args:
            x: Embeddings of probes, shape `(n, features)`.
            y: Embeddings of the enrolled, shape `(m, features)`.

        Raises:
            ValueError: If they are no vectors of the encoder's width.
        """
        pair = (("x", x), ("y", y))
        return self.prototypes_layer.similarity(
            *(ops.convert_to_tensor(_tensor_or(f"`{name}`", z, real)) for name, z in pair),
            training=False,
        )

    def classify(self, x, *, among=None, batch_size=BATCH):
        """The most similar class of each input (Monteiro2020, Eq. 4); ties go to the lowest row.

        Args:
            x: Inputs, shape `(count, ...)`.
            among: Names of the classes to choose from; None: all.
            batch_size: Inputs of one call.

        Returns:
            Rows of `class_names`, shape `(count,)`.

        Raises:
            TypeError: As `embed`.
            ValueError: If `among` names no class or one that there is not, or `x` is empty, no
                batch of what the encoder takes, or has a row without scores, which are NaN.
        """
        rows = self._rows(among)
        chosen = {self.class_names[row] for row in rows}
        unseen = [name for name in self.prototypes_layer.without_visits() if name in chosen]
        if unseen:
            warnings.warn(
                f"{len(unseen)} prototypes were never trained, among them {unseen[:4]}: their "
                "scores mean nothing. Train on them, or call `refit_prototypes(x, y)`.",
                stacklevel=2,
            )
        scores = finite("The scores of `x`", self._in_parts(self.scores, x, batch_size))
        return rows[np.argmax(scores[:, rows], axis=1)]

    @property
    def prototypes(self):
        """Prototypes, shape `(classes, features)`, NumPy."""
        return np.asarray(ops.convert_to_numpy(self.prototypes_layer.prototypes))

    @property
    def class_names(self):
        """Names of the rows of the prototypes."""
        return list(self.prototypes_layer.class_names)

    @property
    def distance(self):
        """`d(x, y) = -S(x, y)` as an object."""
        return self.prototypes_layer.distance

    def add_classes(self, class_names, x, y, *, batch_size=BATCH):
        """Learns new classes from a few examples, without training: the mean of their embeddings.

        Args:
            class_names: Names of the new classes.
            x: Their examples, shape `(count, ...)`.
            y: Place of each example's class in `class_names`, shape `(count,)`.
            batch_size: Inputs of one call.

        Raises:
            ValueError: As `keras_dml.layers.PrototypeSimilarity.add_classes`.
        """
        self.prototypes_layer.add_classes(class_names, self._embedded(x, batch_size), y)
        self._forget_functions()

    def extend_class(self, class_name, x, *, batch_size=BATCH):
        """Takes further examples into the prototype of a class.

        Args:
            class_name: Name of a class whose prototype is a mean of known count.
            x: Examples, shape `(count, ...)`.
            batch_size: Inputs of one call.

        Raises:
            ValueError: As `keras_dml.layers.PrototypeSimilarity.extend_class`.
        """
        self.prototypes_layer.extend_class(class_name, self._embedded(x, batch_size))

    def set_prototypes(self, values, class_names=None):
        """Replaces all classes; the auxiliary head keeps those of training.

        Args:
            values: Prototypes, shape `(classes, features)`.
            class_names: Their names; None: those that there are.

        Raises:
            ValueError: As `keras_dml.layers.PrototypeSimilarity.set_prototypes`.
        """
        self.prototypes_layer.set_prototypes(values, class_names)
        self._forget_functions()

    def refit_prototypes(self, x, y, *, batch_size=BATCH):
        """Sets each prototype to its class's mean embedding in inference mode.

        The moving means of training lag behind the encoder and saw its training mode.

        Args:
            x: Examples of every class, shape `(count, ...)`.
            y: Class ids, shape `(count,)`.
            batch_size: Inputs of one call.

        Raises:
            ValueError: If a class has no example or a label is none of the classes.
        """
        self.prototypes_layer.refit(self._embedded(x, batch_size), y)

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
            "aux_classes": self._trained_classes,
            **options,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        encoder = keras.saving.deserialize_keras_object(
            config.pop("encoder"), custom_objects=custom_objects
        )
        trained = config.pop("aux_classes")
        present = {key: config[key] for key in ("classes", "class_names")}
        model = cls(encoder, **{**config, "classes": trained, "class_names": None})
        if present["classes"] != trained:
            model.prototypes_layer.set_prototypes(
                np.zeros((present["classes"], encoder.output_shape[1])), present["class_names"]
            )
        model.prototypes_layer.class_names = list(present["class_names"])
        return model

    @property
    def _objective(self):
        loss = getattr(self, "loss", None)
        check_loss(loss)
        return loss or PrototypicalLoss()

    @property
    def _trained_classes(self):
        return self.aux_head.units if self.aux_head is not None else self.prototypes_layer.classes

    def _encoded(self, inputs, training, mask):
        if mask is None:
            return self.encoder(inputs, training=training)
        return self.encoder(inputs, training=training, mask=mask)

    def _cosines(self, z):
        return vector.cosine(z, ops.transpose(ops.convert_to_tensor(self.aux_head.kernel)))

    def _rows(self, among):
        if among is None:
            return np.arange(self.prototypes_layer.classes)
        if isinstance(among, str):
            raise ValueError(f"`among` must be a list of names. Received {among!r}.")
        among = list(among)
        unknown = [name for name in among if name not in self.prototypes_layer.class_names]
        if unknown or not among:
            raise ValueError(
                f"`among` must name some of the model's classes (`class_names`). Received among="
                f"{among!r}, of which these are none: {unknown}."
            )
        return np.sort([self.prototypes_layer.class_names.index(name) for name in among])

    def _embedded(self, x, batch_size):
        return self._in_parts(self.embed, x, batch_size)

    def _in_parts(self, function, x, batch_size):
        batch_size = whole("batch_size", batch_size, least=1)
        x = self._checked(x)
        parts = (x[i : i + batch_size] for i in range(0, len(x), batch_size))
        return np.concatenate([np.asarray(function(part)) for part in parts])

    def _check_arrays(self, x, y):
        """Refuses labels of no class and what is no image, where they are arrays."""
        if y is None and isinstance(x, np.ndarray):
            raise ValueError(
                "A prototypical classifier is trained by class ids: `fit(x, y)`. Received y=None."
            )
        if not (x is None or y is None or ops.is_tensor(y)):
            checked_labels(y, len(x), self._trained_classes)
        if isinstance(x, np.ndarray):
            self._checked(x)

    def _checked(self, x):
        """Inputs as an array of finite numbers or a tensor, pictures in their range."""
        if len(self.encoder.input_shape) == 4:
            check_images(x, self.encoder.input_shape[1:])
        x = _tensor_or("`x`", x, finite)
        check_batch(x.shape, x.dtype, self.encoder.input_shape)
        if x.shape[0] == 0:
            raise ValueError("`x` is empty; give at least one input.")
        return x

    def _forget_functions(self):
        """Compiled functions hold the old number of classes."""
        self.train_function = self.test_function = self.predict_function = None


_OF_LAYERS = ("name", "dtype", "trainable")
_TRAINING_TERMS = ("pair_loss", "aux_loss", "positives")


def _without_training_terms(told):
    return {name: value for name, value in told.items() if name not in _TRAINING_TERMS}


def _tensor_or(name, x, check):
    """A tensor as it is, anything else as the array that a check of `keras_dml._arrays` gives."""
    return x if ops.is_tensor(x) else check(name, x)


def _repeated(ids):
    """Whether an id comes earlier too, shape `(ids,)`."""
    places = ops.arange(ops.shape(ids)[0])
    earlier = ops.logical_and(ops.equal(ids[:, None], ids[None]), places[:, None] > places[None])
    return ops.any(earlier, axis=1)
