"""Prototypes of classes as state of a layer, and the similarities of embeddings to them."""

import collections
import numbers

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras, ops
from keras_dml._backend.replicas import gathered
from keras_dml.geometry import prototypes
from keras_dml.labels import checked_labels
from keras_dml.layers.learned_similarity import LearnedSimilarity
from keras_dml.layers.precision import full_precision

INITS = ("normal", "first_mean")


@keras.saving.register_keras_serializable(package="keras_dml")
class PrototypeSimilarity(keras.layers.Layer):
    """Learned similarities S(z, c) of embeddings to one prototype a class (Monteiro2020, Eq. 1).

    The prototypes are a state that follows the embeddings, `update`, and that no optimizer trains;
    they are saved with the model. After training, classes come and go without it: `add_classes`
    appends some, `set_prototypes` replaces all. `keras_dml.models.PrototypicalClassifier` trains
    the layer together with an encoder.

    Input shape: `(batch, features)`, vectors. Output shape: `(batch, classes)`, float32 or wider
    whatever the policy, without bounds: logits of the classes.

    Args:
        classes: Number of classes, at least 1; labels are 0 to `classes - 1`.
        decay: Share of the old prototype in an update (lambda in Monteiro2020), from 0 to 1.
        init: What prototypes are before training: `"normal"`, independent normal numbers as in
            Monteiro2020; or `"first_mean"`, the mean of the class in its first batch.
        class_names: Names of the classes, for `add_classes`; None: `"0"`, `"1"`, ...
        **options: Of `LearnedSimilarity`: `hidden`, `slope`, `dropout`, `symmetry`, `normalize`.

    Raises:
        ValueError: If an argument is out of its range, two classes have one name, or the input is
            no vectors.

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
        self.class_names = _distinct(names, int(classes))
        self.similarity = LearnedSimilarity(**options, dtype=self.dtype, name="similarity")

    @property
    def classes(self):
        """Number of classes at present."""
        return len(self.class_names)

    def build(self, input_shape):
        if len(input_shape) != 2 or input_shape[1] is None:
            raise ValueError(
                "PrototypeSimilarity needs vectors of known width, shape (batch, features). "
                f"Received shape {tuple(input_shape)}. End the encoder in a pooling or a "
                "`keras.layers.Flatten` and a `keras.layers.Dense`."
            )
        self.similarity.build(input_shape, (self.classes, input_shape[1]))
        self._make_state(input_shape[1])

    def call(self, inputs, training=None):
        return self.similarity(inputs, self.prototypes, training=training)

    def update(self, z, labels):
        """Moves the prototypes of the classes of a batch toward their means (Monteiro2020,
        Algorithm 1), on all replicas alike; no gradient goes through it.

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
        after, present = prototypes.moved(old, z, labels, decay)
        self.prototypes.assign(after)
        self.visits.assign_add(ops.cast(present, self.visits.dtype))
        self.counts.assign(ops.where(present, 0, ops.convert_to_tensor(self.counts)))

    def set_prototypes(self, values, class_names=None, *, counts=None):
        """Replaces all prototypes, and with them the classes.

        Args:
            values: Shape `(classes, features)`.
            class_names: One name a row; None keeps the names, for as many rows as there are.
            counts: Of how many embeddings each row is the mean, which `extend_class` needs; None:
                not known.

        Raises:
            ValueError: For another width, values that are not finite, names or counts that are not
                one a row, a name that comes twice. Nothing is changed then.
        """
        values = self._checked(values, "prototypes")
        names = self.class_names if class_names is None else class_names
        names = _distinct(names, len(values))
        counts = np.zeros(len(values)) if counts is None else real("`counts`", counts)
        if counts.shape != (len(values),):
            raise ValueError(
                f"`counts` must be one number a row, shape ({len(values)},). Received shape "
                f"{counts.shape}."
            )
        if not (np.isfinite(counts) & (counts >= 0)).all():
            raise ValueError(f"`counts` must be at least 0. Received {counts.tolist()}.")
        self._assign(values, np.ones(len(values)), counts, names)

    def add_classes(self, class_names, z, labels):
        """Appends classes, each with the mean of its support embeddings; the others keep their
        bits.

        Args:
            class_names: Names of the new classes.
            z: Support embeddings, shape `(count, features)`.
            labels: Place of each row's class in `class_names`, shape `(count,)`.

        Raises:
            ValueError: If a name is known already or comes twice, a class has no row, or a row is
                not finite. Nothing is changed then.
        """
        means, counts, names = self._new(class_names, z, labels)
        old, visits, old_counts = self._state()
        self._assign(
            np.concatenate([old, means]),
            np.concatenate([visits, np.ones(len(means))]),
            np.concatenate([old_counts, counts]),
            [*self.class_names, *names],
        )

    def extend_class(self, class_name, z):
        """Takes further support embeddings into the mean of a class.

        Args:
            class_name: Name of a class whose prototype is a mean of known count.
            z: Embeddings, shape `(count, features)`.

        Raises:
            ValueError: If there is no such class, or its prototype was left by training.
        """
        if class_name not in self.class_names:
            raise ValueError(f"There is no class {class_name!r}; `add_classes` makes one.")
        z = self._checked(z, "z")
        row = self.class_names.index(class_name)
        values, visits, counts = self._state()
        if not counts[row]:
            raise ValueError(
                f"The prototype of {class_name!r} is a moving mean of unknown count. Measure it "
                "anew first: `refit_prototypes(x, y)` of the model, or `refit(z, labels)` of this "
                "layer."
            )
        total = counts[row] + len(z)
        values[row] = (counts[row] * values[row] + z.sum(axis=0)) / total
        counts[row] = total
        self._assign(values, visits, counts, self.class_names)

    def refit(self, z, labels):
        """Sets each prototype to the mean of its class's embeddings.

        Args:
            z: Embeddings, shape `(count, features)`.
            labels: Class ids, shape `(count,)`; every class has a row.

        Raises:
            ValueError: If a class has no row, a label is none of the classes, or a row is not
                finite.
        """
        z = self._checked(z, "z")
        means, counts = _means(z, checked_labels(labels, len(z), self.classes), self.class_names)
        self._assign(means, np.ones(len(means)), counts, self.class_names)

    def without_visits(self):
        """Names of the classes whose prototypes are still those of the start."""
        visits = np.asarray(ops.convert_to_numpy(self.visits))
        return [name for name, seen in zip(self.class_names, visits, strict=True) if not seen]

    @property
    def distance(self):
        """`d(x, y) = -S(x, y)` as an object."""
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
        }

    def _make_state(self, features):
        # Every replica computes the same update from what all of them have gathered.
        fixed = {"trainable": False, "aggregation": "only_first_replica"}
        shape = (self.classes, features)
        normal = keras.initializers.RandomNormal(stddev=1.0)
        self.prototypes = self.add_weight(
            name="prototypes", shape=shape, initializer=normal, **fixed
        )
        self.visits, self.counts = (
            self.add_weight(name=name, shape=shape[:1], initializer="zeros", **fixed)
            for name in ("visits", "counts")
        )

    def _state(self):
        weights = (self.prototypes, self.visits, self.counts)
        return tuple(np.array(ops.convert_to_numpy(weight)) for weight in weights)

    def _assign(self, values, visits, counts, names):
        """New values of the state, in new weights where the number of classes changes."""
        changes = len(names) != self.prototypes.shape[0]
        self.class_names = list(names)
        if changes:
            features = self.prototypes.shape[1]
            self._tracker.unlock()
            for weight in (self.prototypes, self.visits, self.counts):
                self._untrack_variable(weight)
            self._make_state(features)
            self._tracker.lock()
        self.prototypes.assign(values)
        self.visits.assign(visits)
        self.counts.assign(counts)

    def _new(self, class_names, z, labels):
        names = _distinct(class_names)
        if not names:
            raise ValueError("`class_names` is empty; give at least one name.")
        known = sorted(set(names) & set(self.class_names))
        if known:
            raise ValueError(
                f"There are classes named {known} already. `extend_class` takes more examples into "
                "one; give a new class a name of its own."
            )
        z = self._checked(z, "z")
        return *_means(z, checked_labels(labels, len(z), len(names)), names), names

    def _checked(self, z, name):
        z = real(f"`{name}`", z, np.float64)
        if not self.built and z.ndim == 2:
            self.build(z.shape)
        features = self.prototypes.shape[1] if self.built else "features"
        if z.ndim != 2 or z.shape[1] != features or not len(z):
            raise ValueError(
                f"`{name}` must hold at least one embedding, shape (count, {features}). Received "
                f"shape {z.shape}."
            )
        if not np.isfinite(z).all():
            row = np.flatnonzero(~np.isfinite(z).all(axis=1))[0]
            raise ValueError(f"`{name}` holds NaN or infinity, first in row {row}; leave it out.")
        return z


_OPTIONS = ("hidden", "slope", "dropout", "symmetry", "normalize")


def _means(z, labels, names):
    counts = np.bincount(labels, minlength=len(names))
    if not counts.all():
        missing = [name for name, count in zip(names, counts, strict=True) if not count]
        raise ValueError(f"Every class needs at least one example. None is given for {missing}.")
    sums = np.zeros((len(names), z.shape[1]))
    np.add.at(sums, labels, z)
    return sums / counts[:, None], counts


def _distinct(names, rows=None):
    if names is None or isinstance(names, str):
        raise ValueError(f"`class_names` must be a list of names. Received {names!r}.")
    names = [str(name) for name in names]
    if rows is not None and len(names) != rows:
        raise ValueError(
            f"`class_names` must be one name a class, {rows}. Received {len(names)} names."
        )
    twice = [name for name, count in collections.Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"`class_names` must differ. These come twice: {twice[:8]}.")
    return names
