"""Prototypes of classes as state of a layer, and similarities of embeddings to them."""

import numbers

from keras_dml._backend import keras, ops
from keras_dml._backend.replicas import gathered
from keras_dml.geometry import prototypes
from keras_dml.layers._classes import distinct_names
from keras_dml.layers._managed_prototypes import ManagedPrototypes
from keras_dml.layers.learned_similarity import LearnedSimilarity
from keras_dml.layers.precision import full_precision

INITS = ("normal", "first_mean")


@keras.saving.register_keras_serializable(package="keras_dml")
class PrototypeSimilarity(ManagedPrototypes, keras.layers.Layer):
    """Learned similarities S(z, c) of embeddings to one prototype a class (Monteiro2020, Eq. 1).

    The prototypes are a state that follows the embeddings, `update`, and that no optimizer trains;
    they are saved with the model. Classes come and go without training: `add_classes` appends some,
    `remove_classes` deletes some, `set_prototypes` replaces all. Added classes are scored by
    `keras_dml.geometry.prototypes.balanced`, because S alone hardly ever prefers them.
    `keras_dml.models.PrototypicalClassifier` trains the layer together with an encoder.

    Input shape: `(batch, features)`, vectors. Output shape: `(batch, classes)`, float32 or wider
    under any policy, without bounds: logits of the classes.

    Args:
        classes: Number of classes, at least 1; labels are 0 to `classes - 1`.
        decay: Fraction of the old prototype in an update (lambda in Monteiro2020), from 0 to 1.
        init: Prototypes before training: `"normal"`, independent normal numbers as in
            Monteiro2020; or `"first_mean"`, the mean of the class in its first batch.
        class_names: Names of the classes; None: `"0"`, `"1"`, ...
        **options: Options of `LearnedSimilarity`: `hidden`, `slope`, `dropout`, `symmetry`,
            `normalize`.

    Raises:
        ValueError: If an argument is out of range, two classes have one name, or the input is
            not made of vectors.

    Example:
        >>> layer = PrototypeSimilarity(classes=2, hidden=(4,))
        >>> z = np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 0.0]], "float32")
        >>> layer.set_prototypes([[0.0, 2.0], [1.0, 0.0]])
        >>> layer.add_classes(["new"], z[:2], [0, 0])
        >>> layer(z).shape, layer.class_names
        (TensorShape([3, 3]), ['0', '1', 'new'])
    """

    def __init__(
        self,
        classes,
        *,
        decay=0.9,
        init="normal",
        class_names=None,
        dtype=None,
        name=None,
        **options,
    ):
        super().__init__(dtype=full_precision(dtype), name=name)
        if not isinstance(classes, numbers.Integral) or classes < 1:
            raise ValueError(
                f"`classes` must be a whole number of at least 1. Received classes={classes!r}."
            )
        if not isinstance(decay, numbers.Real) or not 0 <= decay <= 1:
            raise ValueError(f"`decay` must be a number from 0 to 1. Received decay={decay!r}.")
        if init not in INITS:
            raise ValueError(f"`init` must be one of {INITS}. Received init={init!r}.")
        self.decay = float(decay)
        self.init = init
        names = map(str, range(classes)) if class_names is None else class_names
        self.class_names = distinct_names(names, int(classes))
        self.similarity = LearnedSimilarity(**options, dtype=self.dtype, name="similarity")

    @property
    def classes(self):
        """Number of present classes."""
        return len(self.class_names)

    def build(self, input_shape):
        if len(input_shape) != 2 or input_shape[1] is None:
            raise ValueError(
                "PrototypeSimilarity needs vectors of known width, shape (batch, features). "
                f"Received shape {tuple(input_shape)}. End the encoder in a pooling or a "
                "`keras.layers.Flatten` and a `keras.layers.Dense`."
            )
        self.similarity.build(input_shape, (self.classes, input_shape[1]))
        self._make_state(input_shape[1], self.classes, self.has_spread)

    def call(self, inputs, training=None):
        similarities = self.similarity(inputs, self.prototypes, training=training)
        if training or not self.has_spread or inputs.shape[0] == 0:
            return similarities
        state = (self.prototypes, self.added, self.whitening, self.spread, self.counts)
        rows, added, *rest = map(ops.convert_to_tensor, state)
        z = ops.cast(inputs, rows.dtype)
        return prototypes.balanced(similarities, z, rows, added > 0, *rest)

    def update(self, z, labels):
        """Moves the prototypes of the classes of a batch toward their means (Monteiro2020,
        Algorithm 1).

        All replicas make the same update, and no gradient goes through it.

        Args:
            z: Embeddings, shape `(batch, features)`.
            labels: Class ids, int32, shape `(batch,)`; -1 is none.
        """
        z = ops.cast(ops.stop_gradient(z), self.prototypes.dtype)
        z, labels = gathered(z), gathered(labels)
        decay = self.decay
        if self.init == "first_mean":
            decay = ops.where(ops.convert_to_tensor(self.visits) > 0, decay, 0.0)[:, None]
        old = ops.convert_to_tensor(self.prototypes)
        after, present = prototypes.updated(old, z, labels, decay)
        self.prototypes.assign(after)
        self.visits.assign_add(ops.cast(present, self.visits.dtype))
        self.counts.assign(ops.where(present, 0, ops.convert_to_tensor(self.counts)))
        if self.has_spread:  # what is trained is no longer added
            self.added.assign(ops.where(present, 0, ops.convert_to_tensor(self.added)))

    @property
    def distance(self):
        """The distance `d(x, y) = -S(x, y)` of embeddings."""
        return self.similarity.distance

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.classes)

    def get_config(self):
        options = self.similarity.get_config()
        return {
            **super().get_config(),
            "classes": self.classes,
            "decay": self.decay,
            "init": self.init,
            "class_names": list(self.class_names),
            **{key: options[key] for key in _OPTIONS},
            **({"has_spread": True} if self.has_spread else {}),
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        has_spread = config.pop("has_spread", False)
        layer = cls(**config)
        layer.has_spread = has_spread
        return layer


_OPTIONS = ("hidden", "slope", "dropout", "symmetry", "normalize")
