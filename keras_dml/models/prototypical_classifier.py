"""Provides a classifier that compares embeddings with prototypes of classes. A prototype is a
vector that represents a class. Classes can be added after training.
"""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from keras_dml import distances
from keras_dml._arrays import finite, real, whole
from keras_dml._backend import keras, ops
from keras_dml._backend.replicas import per_replica
from keras_dml._typing import ArrayLike, Tensor
from keras_dml.geometry import vector
from keras_dml.images import are_images, check_images
from keras_dml.labels import checked_labels
from keras_dml.layers.prototype_similarity import PrototypeSimilarity
from keras_dml.losses.pairs import classes_present
from keras_dml.losses.prototypes import PrototypicalLoss, additive_margin, known_ids
from keras_dml.models._checked_training import CheckedTraining, refuse_weights
from keras_dml.models._choices import choose

AUXILIARIES = ("softmax", "am", None)
TERMS = ("class_loss", "pair_loss", "aux_loss", "positives")
HEADS = {"sim": "similarities to the prototypes", "dol": "logits of the auxiliary dense layer"}
BATCH = 256
_OF_LAYERS = ("name", "dtype", "trainable")


@keras.saving.register_keras_serializable(package="keras_dml")
class PrototypicalClassifier(CheckedTraining):
    """Classifier that trains an encoder E, class prototypes C and a similarity S together
    (Monteiro2020, Algorithm 1).

    `model(x)` returns the scores `S(E(x), C)`, which are logits of the classes. A prototype is an
    exponential moving average (EMA) of the embeddings of its class. Each training step first
    updates the prototypes with the embeddings of the batch. The step then computes the three terms
    of `PrototypicalLoss`. Prototypes do not get gradients. Prototypes are weights of the model, so
    training can continue with a loaded model. Compile the model with an optimizer. To change the
    weights of the terms or the label smoothing, also pass a `keras_dml.losses.PrototypicalLoss` to
    `compile`.

    Each batch needs several examples per class (`keras_dml.samplers.PKSampler`). If there are ten
    classes, a random batch of 64 rows is sufficient. `fit` logs the three terms. `fit` also logs
    `positives`: the number of pairs in a batch whose two rows have the same class. Each logged
    value is a mean over batches, weighted by the numbers of rows.

    `evaluate` and validation compute the same terms with the same weights as training, so
    `val_loss` is comparable with `loss`. `evaluate` and validation run the model in inference mode
    and do not change prototypes. The pair term compares the rows of a batch with each other, and
    Keras does not shuffle validation data. Pass validation data in random order or from a sampler,
    in batches of the same size as in training. If the data is sorted by class, a batch may contain
    no pairs of different classes or no pairs of the same class. The pair term counts missing pairs
    as 0. To detect missing pairs, check `val_positives`. The auxiliary head has no unit for a class
    that was added after training, so the auxiliary term ignores rows of this class.

    If a label in an array is not a class, `fit` raises an error before the first step. If the
    labels come from a data pipeline, a compiled training step receives the labels, and this step
    cannot raise an error. If a label is invalid, the loss of the step is NaN, the gradient is 0,
    and no prototype changes. In an evaluation, an invalid label raises an error. On several
    replicas, the prototypes are updated with the global batch, and pairs are formed within each
    replica.

    Args:
        encoder: A built `keras.Model` with one input that returns vectors, shape `(batch,
            features)`.
        classes: Number of classes. Labels are 0 to `classes - 1`.
        aux: Auxiliary head ("dense output layer", DOL) on the embeddings: `"softmax"` (a dense
            layer), `"am"` (additive margin softmax, AM-softmax, CosFace) or None (no auxiliary
            head).
        name: Name of the model.
        **options: Options of `keras_dml.layers.PrototypeSimilarity`, such as `hidden`, `dropout`,
            `symmetry`, `decay`, `init` and `class_names`.

    Raises:
        ValueError: If the encoder does not return vectors, or if an argument is out of range.

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
        self,
        encoder: keras.Model,
        classes: int,
        *,
        aux: str | None = "softmax",
        name: str = "prototypical_classifier",
        **options: Any,
    ):
        _check_encoder(encoder)
        super().__init__(name=name)
        self.supports_masking = True  # the encoder uses masks, and scores have no mask
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

    def build(self, input_shape: tuple[Any, ...]) -> None:
        shape = self.encoder.compute_output_shape(input_shape)
        for layer in (self.prototypes_layer, self.aux_head):
            if layer is not None and not layer.built:
                layer.build(shape)
        self.built = True

    def call(
        self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Computes the scores, shape `(batch, classes)`.

        In training and in an evaluation, the result is a dict of embeddings and scores. In
        training, the scores are computed before the prototypes are updated, and only metrics use
        these scores.
        """
        embedding = self._encode(inputs, training, mask)
        return self._outputs(embedding, self.prototypes_layer(embedding, training=False), training)

    def compute_loss(
        self,
        x: Tensor | None = None,
        y: Tensor | None = None,
        y_pred: Tensor | dict[str, Any] | None = None,
        sample_weight: None = None,
        training: bool = True,
    ) -> Tensor:
        """Computes the loss of a batch. In training, the method first updates the prototypes.

        Args:
            x: Inputs, shape `(batch, ...)`.
            y: Class ids, shape `(batch,)`.
            y_pred: Result of `call`, which in training is a dict with embeddings. If `y_pred` is
                not a dict, the method computes the embeddings of `x`.
            sample_weight: Must be None.
            training: Whether the prototypes are updated and dropout is active.
        """
        refuse_weights(self, sample_weight)
        has_embedding = isinstance(y_pred, dict)
        z = y_pred["embedding"] if has_embedding else self._encode(x, training)
        return self.objective(y, z, self._prototypical_loss, training=training, extra=self.losses)

    def objective(
        self,
        y: Tensor,
        z: Tensor,
        loss: PrototypicalLoss,
        *,
        training: bool,
        extra: Sequence[Tensor] = (),
        static: bool | None = None,
    ) -> Tensor:
        """Computes the weighted sum of the loss terms of a batch, and logs each term.

        Args:
            y: Class ids, shape `(batch,)`.
            z: Embeddings, shape `(batch, features)`.
            loss: A `PrototypicalLoss`, which defines the terms and their weights.
            training: Whether the prototypes are updated and dropout is active.
            extra: Scalars that are added to the loss, such as penalties of regularizers.
            static: Whether XLA compiles the step. The default is the setting `jit_compile` of this
                model.
        """
        classes = self._trained_classes if training else self.prototypes_layer.classes
        labels, valid = known_ids(y, classes)
        if training:
            self.prototypes_layer.update(z, ops.where(valid, labels, -1))
        static = self.jit_compile if static is None else static
        terms = _batch_terms(self, loss, z, labels, training=training, static=static)
        for metric, value in zip(self._term_metrics, terms, strict=True):
            metric.update_state(ops.stop_gradient(value), sample_weight=ops.shape(z)[0])
        extra = [ops.cast(value, terms[0].dtype) for value in extra]
        total = sum(extra, start=loss.total(*terms[:3]))
        return per_replica(ops.where(valid, total, float("nan")))

    def terms(self, z: Tensor, labels: Tensor, *, training: bool = False) -> tuple[Any, ...]:
        """Computes the terms of the compiled loss from embeddings and the current prototypes.

        Args:
            z: Embeddings, shape `(batch, features)`.
            labels: Class ids, int32, shape `(batch,)`.
            training: Whether dropout is active.

        Returns:
            Four scalars: class term, pair term, auxiliary term, and number of pairs with equal
                classes.
        """
        return _batch_terms(
            self, self._prototypical_loss, z, labels, training=training, static=self.jit_compile
        )

    def embed(self, x: Tensor) -> Tensor:
        """Computes embeddings E(x) of a batch in inference mode, shape `(batch, features)`.

        The result is differentiable with respect to `x`. If there are more inputs than fit into one
        batch, use `keras_dml.embed(model, inputs)`.

        Args:
            x: A batch of inputs. Images must be floats in [0, 1].

        Raises:
            TypeError: If `x` is an array that holds values other than real numbers.
            ValueError: If the encoder does not accept the shape of `x`, if `x` holds images as
                bytes, or if `x` is an array that holds NaN or infinity.
        """
        x = ops.convert_to_tensor(_checked_array("`x`", x, finite))
        _check_batch(x.shape, x.dtype, self.encoder.input_shape)
        return self._encode(x, training=False)

    def scores(self, x: Tensor, head: str = "sim") -> Tensor:
        """Computes logits of a batch in inference mode, shape `(batch, classes)`.

        The result is differentiable with respect to `x`.

        Args:
            x: A batch of inputs.
            head: Head that computes the scores, `"sim"` or `"dol"`. `"sim"` computes similarities
                to the prototypes. If classes were added, these scores are balanced between old and
                new classes (see `add_classes`). `"dol"` computes the scores of the auxiliary dense
                layer. The auxiliary layer has units only for the classes of the training data. With
                `aux="am"`, its scores are cosines.

        Raises:
            ValueError: Same as in `embed` and `head_scores`.
        """
        return self.head_scores(self.embed(x), head)

    def head_scores(self, z: Tensor, head: str = "sim") -> Tensor:
        """Computes the logits of embeddings in the same way as `scores`.

        Args:
            z: Embeddings, shape `(batch, features)`.
            head: Head that computes the scores, `"sim"` or `"dol"`, as in `scores`.

        Returns:
            Logits, shape `(batch, classes)`.

        Raises:
            ValueError: If the head is unknown, or if `head` is `"dol"` and the model has no
                auxiliary head.
        """
        choose("head", head, HEADS)
        z = ops.convert_to_tensor(_checked_array("`z`", z, real))
        if head == "sim":
            return self.prototypes_layer(z, training=False)
        if self.aux_head is None:
            raise ValueError(
                'The model was built with `aux=None` and has no "dol" head. Use head="sim".'
            )
        z = ops.cast(z, self.prototypes_layer.dtype)
        if self.aux == "softmax":
            return self.aux_head(z)
        return _auxiliary_cosines(self.aux_head, z)

    def similarity(self, x: Tensor, y: Tensor) -> Tensor:
        """Computes the similarity S of each embedding in `x` to each embedding in `y`, shape `(n,
        m)`.

        Args:
            x: Embeddings of queries, shape `(n, features)`.
            y: Embeddings of the gallery, shape `(m, features)`.

        Raises:
            ValueError: If the vectors in `x` or `y` do not have the length of the encoder's output.
        """
        x, y = (_checked_array(name, z, real) for name, z in (("`x`", x), ("`y`", y)))
        x, y = ops.convert_to_tensor(x), ops.convert_to_tensor(y)
        return self.prototypes_layer.similarity(x, y, training=False)

    @property
    def distance(self) -> distances.Distance:
        """Distance between embeddings, `d(x, y) = -S(x, y)`."""
        return self.prototypes_layer.distance

    def classify(
        self, x: ArrayLike, *, among: Sequence[str] | None = None, batch_size: int = BATCH
    ) -> np.ndarray:
        """Returns the most similar class of each input (Monteiro2020, Eq. 4).

        If several classes have the highest score, the method returns the first of these classes. If
        classes were added after training, the nearest class mean decides between the added classes
        and the old classes (see `add_classes`).

        Args:
            x: Inputs, shape `(count, ...)`.
            among: Names of the classes to choose from. By default, the method chooses among all
                classes.
            batch_size: Number of inputs per call of the model.

        Returns:
            Indices into `class_names`, shape `(count,)`.

        Raises:
            TypeError: Same as in `embed`.
            ValueError: If `among` is empty or names an unknown class, or if `x` is empty, has a
                shape that the encoder does not accept, or has a row whose scores are NaN.
        """
        rows = self._class_rows(among)
        names = {self.class_names[row] for row in rows}
        untrained = [name for name in self.prototypes_layer.without_visits() if name in names]
        if untrained:
            warnings.warn(
                f"{len(untrained)} prototypes were never trained, among them {untrained[:4]}. The "
                "scores of these classes are meaningless. Train on examples of these classes, or "
                "call `refit_prototypes(x, y)`.",
                stacklevel=2,
            )
        scores = finite("The scores of `x`", self._apply_in_batches(self.scores, x, batch_size))
        return rows[np.argmax(scores[:, rows], axis=1)]

    @property
    def prototypes(self) -> np.ndarray:
        """Prototypes of the classes, a NumPy array of shape `(classes, features)`."""
        return np.asarray(ops.convert_to_numpy(self.prototypes_layer.prototypes))

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, in the order of the rows of `prototypes`."""
        return list(self.prototypes_layer.class_names)

    def add_classes(
        self,
        class_names: Sequence[str],
        x: ArrayLike,
        y: ArrayLike,
        *,
        batch_size: int = BATCH,
    ) -> None:
        """Adds new classes from a few examples, without training.

        The prototype of a new class is the mean embedding of its examples. The learned similarity
        was not trained on the new classes, and by itself it would almost never choose a new class.
        Therefore the nearest class mean decides between old and new classes, and also among new
        classes (see `keras_dml.geometry.prototypes.balanced`). Scores of the old classes do not
        change. To improve the decision, call `refit_prototypes` with training examples before you
        add classes. `refit_prototypes` measures how much the embeddings of a class spread. If
        `refit_prototypes` was not called, as in the published models, the decision uses the spread
        of the new examples. If `refit_prototypes` was not called and each new class has only one
        example, the decision uses the Euclidean distance.

        Expect lower accuracy on new classes than on old classes. We measured accuracy with five
        examples of each new class and a choice among all classes. On digits, 89.5 % of inputs of
        new classes and 98.5 % of inputs of old classes were classified correctly (harmonic mean
        93.7 %). On speakers, 88.2 % of inputs of new classes and 92.8 % of inputs of old classes
        were classified correctly (harmonic mean 90.3 %). On characters of Omniglot, 81.8 % of
        inputs of new classes and 94.3 % of inputs of old classes were classified correctly
        (harmonic mean 87.4 %). On photographs of CIFAR-10, 46.6 % of inputs of new classes and
        40.0 % of inputs of old classes were classified correctly (harmonic mean 41.9 %). The
        encoders were trained without the new classes (see `zoo/new_classes.md` in the repository).
        `keras_dml.evaluation.generalized_accuracy` computes the accuracy on new classes, the
        accuracy on old classes and their harmonic mean for your data.

        Args:
            class_names: Names of the new classes.
            x: Examples of the new classes, shape `(count, ...)`.
            y: Class of each example, shape `(count,)`, as a name or as an index into `class_names`.
            batch_size: Number of inputs per call of the encoder.

        Raises:
            ValueError: Same as in `keras_dml.layers.PrototypeSimilarity.add_classes`.
        """
        self.prototypes_layer.add_classes(class_names, self._embed_all(x, batch_size), y)
        self._reset_functions()

    def extend_class(self, class_name: str, x: ArrayLike, *, batch_size: int = BATCH) -> None:
        """Adds further examples to the prototype of a class.

        Args:
            class_name: Name of a class. The prototype of the class must be the mean of a known
                number of embeddings.
            x: Examples, shape `(count, ...)`.
            batch_size: Number of inputs per call of the encoder.

        Raises:
            ValueError: Same as in `keras_dml.layers.PrototypeSimilarity.extend_class`.
        """
        self.prototypes_layer.extend_class(class_name, self._embed_all(x, batch_size))

    def remove_classes(self, class_names: Sequence[str]) -> None:
        """Removes classes.

        The method removes the prototype, the count and the name of each class, and the output unit
        of the class in the auxiliary head. The prototypes of the remaining classes stay exactly the
        same. The remaining classes get new ids, so that class ids are still indices into
        `class_names`. If a unit of the auxiliary head is removed, the method resets the optimizer,
        because the optimizer stores past gradients of the removed unit. A model that wraps this
        model, such as `AdversarialTraining`, must be compiled again. The weights of the encoder do
        not change, so they still depend on the examples of the removed classes.

        Args:
            class_names: Names of the classes to remove. At least one class must remain.

        Raises:
            ValueError: If a name is not a class or appears twice, or if no class would remain. If
                the method raises an error, the model does not change.
        """
        rows = self.prototypes_layer.remove_classes(class_names)
        if self.aux_head is not None and min(rows) < self.aux_head.units:
            self._remove_auxiliary_units(rows)
        self._reset_functions()

    def set_prototypes(self, values: ArrayLike, class_names: Sequence[str] | None = None) -> None:
        """Replaces the prototypes of all classes, and does not change the auxiliary head.

        Args:
            values: Prototypes, shape `(classes, features)`.
            class_names: Names of the classes. By default, the names do not change.

        Raises:
            ValueError: Same as in `keras_dml.layers.PrototypeSimilarity.set_prototypes`.
        """
        self.prototypes_layer.set_prototypes(values, class_names)
        self._reset_functions()

    def refit_prototypes(self, x: ArrayLike, y: ArrayLike, *, batch_size: int = BATCH) -> None:
        """Sets each prototype to the mean of the embeddings of its class, computed in inference
        mode.

        In training, prototypes are moving averages, which lag behind the encoder. The moving
        averages also contain embeddings that were computed in training mode, with dropout and with
        the statistics of a batch. The method also measures how much the embeddings spread around
        their class means. `add_classes` uses this measurement.

        Args:
            x: Examples of every class, shape `(count, ...)`.
            y: Class of each example, shape `(count,)`, as an id or a name.
            batch_size: Number of inputs per call of the encoder.

        Raises:
            ValueError: If a class has no example, or if a label is not among the classes.
        """
        self.prototypes_layer.refit(self._embed_all(x, batch_size), y)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        return None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], self.prototypes_layer.classes)

    def get_config(self) -> dict[str, Any]:
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
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        config = dict(config)
        encoder = keras.saving.deserialize_keras_object(
            config.pop("encoder"), custom_objects=custom_objects
        )
        aux_classes, has_spread = config.pop("aux_classes"), config.pop("has_spread", False)
        names = config.pop("class_names")
        model = cls(encoder, **{**config, "classes": aux_classes})
        model.prototypes_layer.make_room(names, has_spread)
        return model

    @property
    def _prototypical_loss(self):
        loss = getattr(self, "loss", None)
        check_loss(loss)
        return loss or PrototypicalLoss()

    @property
    def _trained_classes(self):
        """Number of classes that training accepts. The first rows of the prototypes belong to these
        classes."""
        classes = self.prototypes_layer.classes
        return classes if self.aux_head is None else min(self.aux_head.units, classes)

    def _check_inputs(self, x):
        if isinstance(x, np.ndarray):
            self._checked_inputs(x)

    def _check_targets(self, x, y, training):
        check_loss(getattr(self, "loss", None))
        if y is None and isinstance(x, np.ndarray):
            raise ValueError(
                "PrototypicalClassifier needs class ids. Received y=None. Call `fit(x, y)`."
            )
        if not (x is None or y is None or ops.is_tensor(y)):
            classes = self._trained_classes if training else self.prototypes_layer.classes
            checked_labels(y, len(x), classes)

    def _encode(self, inputs, training, mask=None):
        _check_float_images(inputs.dtype, self.encoder.input_shape)
        if mask is None:
            return self.encoder(inputs, training=training)
        return self.encoder(inputs, training=training, mask=mask)

    def _class_rows(self, among):
        if among is None:
            return np.arange(self.prototypes_layer.classes)
        if isinstance(among, str):
            raise ValueError(f"`among` must be a list of names. Received {among!r}.")
        among = list(among)
        unknown = [name for name in among if name not in self.prototypes_layer.class_names]
        if unknown or not among:
            raise ValueError(
                "`among` must name some of the model's classes (see `class_names`). Received "
                f"among={among!r}, in which {unknown} are not classes."
            )
        return np.sort([self.prototypes_layer.class_names.index(name) for name in among])

    def _embed_all(self, x, batch_size):
        return self._apply_in_batches(self.embed, x, batch_size)

    def _apply_in_batches(self, function, x, batch_size):
        batch_size = whole("batch_size", batch_size, minimum=1)
        x = self._checked_inputs(x)
        batches = (x[i : i + batch_size] for i in range(0, len(x), batch_size))
        return np.concatenate([np.asarray(function(batch)) for batch in batches])

    def _checked_inputs(self, x):
        """Checks inputs, and converts inputs other than tensors to an array of finite numbers.

        The method also checks that images are in [0, 1].
        """
        if len(self.encoder.input_shape) == 4:
            check_images(x, self.encoder.input_shape[1:])
        x = _checked_array("`x`", x, finite)
        _check_batch(x.shape, x.dtype, self.encoder.input_shape)
        if x.shape[0] == 0:
            raise ValueError("`x` is empty. Pass at least one input.")
        return x

    def _remove_auxiliary_units(self, rows):
        old = self.aux_head
        units = np.setdiff1d(np.arange(old.units), rows)
        weights = [np.take(weight, units, axis=-1) for weight in old.get_weights()]
        self._tracker.unlock()  # Keras refuses new layers of a built model
        self._tracker.untrack(old)
        self.aux_head = None
        if len(units):
            self.aux_head = old.from_config({**old.get_config(), "units": len(units)})
            self.aux_head.build(self.encoder.output_shape)
            self.aux_head.set_weights(weights)
        else:
            self.aux = None
        self._tracker.lock()
        if self.compiled:
            self.optimizer = self.optimizer.from_config(self.optimizer.get_config())
            self.optimizer.build(self.trainable_variables)

    def _reset_functions(self):
        """Deletes compiled functions, which were compiled for the old number of classes."""
        self.train_function = self.test_function = self.predict_function = None


def _batch_terms(classifier, loss, z, labels, *, training, static):
    """Computes `PrototypicalLoss.terms` of a batch with the current prototypes.

    Args:
        classifier: A `PrototypicalClassifier`.
        loss: A `PrototypicalLoss`. A term whose weight is 0 is not computed, and its value is 0.
        z: Embeddings, shape `(batch, features)`.
        labels: Class ids, int32, shape `(batch,)`.
        training: Whether dropout is active.
        static: Whether XLA compiles the step. XLA does not allow shapes that depend on values.
    """
    layer = classifier.prototypes_layer
    z = ops.cast(z, layer.dtype)
    scores = columns = pairs = logits = None
    if loss.class_weight and loss.candidates == "all":
        scores = layer(z, training=training)
    elif loss.class_weight:
        scores, columns = _scores_of_present(layer, z, labels, training, static)
    if loss.pair_weight:
        pairs = layer.similarity(z, z, training=training)
    if loss.aux_weight and classifier.aux == "softmax":
        logits = classifier.aux_head(z)
    elif loss.aux_weight and classifier.aux == "am":
        logits = additive_margin(_auxiliary_cosines(classifier.aux_head, z), labels)
    return loss.terms(labels, scores, pairs, logits, columns)


def _auxiliary_cosines(head, z):
    """Computes cosines between embeddings and the columns of a kernel, shape `(batch, classes)`."""
    return vector.cosine(z, ops.transpose(ops.convert_to_tensor(head.kernel)))


def _scores_of_present(layer, z, labels, training, static):
    """Computes scores for the classes that occur in a batch. Returns the scores, and for each label
    the index of its column in the scores.
    """
    present, columns = classes_present(labels, layer.classes, static=static)
    prototypes = ops.take(layer.prototypes, present, axis=0)
    scores = layer.similarity(z, prototypes, training=training)
    return ops.where(_repeated(present), -float("inf"), scores), columns


def _repeated(ids):
    """Returns a boolean array, shape `(ids,)`: whether each id also occurs at an earlier index."""
    rows = ops.arange(ops.shape(ids)[0], dtype="int32")
    earlier = ops.logical_and(ops.equal(ids[:, None], ids[None]), rows[:, None] > rows[None])
    return ops.any(earlier, axis=1)


def check_loss(loss: object) -> None:
    """Raises an error if the loss is neither None nor a `PrototypicalLoss`."""
    if loss is not None and not isinstance(loss, PrototypicalLoss):
        raise ValueError(
            "PrototypicalClassifier needs `compile(optimizer, PrototypicalLoss())`. Received "
            f"loss={loss!r}. To use another loss, train `model.encoder` directly."
        )


def _check_encoder(encoder):
    """Checks that the encoder is a built model, has one input and returns vectors."""
    single = len(getattr(encoder, "inputs", None) or ()) == 1
    shape = getattr(encoder, "output_shape", None) if single else None
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[1] is None:
        raise ValueError(
            "`encoder` must be a built model with one input that returns vectors, shape (batch, "
            f"features). Received {type(encoder).__name__} with output shape {shape}. Begin the "
            "encoder with `keras.Input(shape)` and end it with a `keras.layers.Dense`."
        )


def _check_batch(shape, dtype, input_shape):
    """Raises an error if an array has no batch axis, has a wrong shape, or holds images as
    integers.

    Args:
        shape: Shape of the array that is checked.
        dtype: Dtype of the array.
        input_shape: Shape of the encoder's input with the batch axis. An axis whose entry is None
            may have any size.
    """
    shape, input_shape = tuple(shape), tuple(input_shape)
    fits = len(shape) == len(input_shape) and all(
        None in pair or pair[0] == pair[1] for pair in zip(shape[1:], input_shape[1:], strict=True)
    )
    if not fits:
        sizes = ", ".join("any" if size is None else str(size) for size in input_shape[1:])
        raise ValueError(
            f"`x` must be a batch of shape (count, {sizes}). Received shape {shape}. Pass a single "
            "input as `x[None]`."
        )
    _check_float_images(dtype, input_shape)


def _check_float_images(dtype, input_shape):
    """Raises an error for images that are stored as integers.

    Args:
        dtype: Dtype of the array.
        input_shape: Shape of the encoder's input with the batch axis.
    """
    if are_images(input_shape[1:]) and not keras.backend.is_float_dtype(dtype):
        dtype = keras.backend.standardize_dtype(dtype)
        raise ValueError(
            f"`x` must hold floats in [0, 1]. Received dtype {dtype}. Convert bytes by "
            '`(x / 255).astype("float32")`.'
        )


def _checked_array(name, x, check):
    """Returns `x` unchanged if `x` is a tensor, and otherwise the result of `check(name, x)`."""
    return x if ops.is_tensor(x) else check(name, x)
