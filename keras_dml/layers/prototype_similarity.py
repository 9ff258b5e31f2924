"""Layer with one prototype per class and a learned similarity between embeddings and prototypes."""

import collections
import numbers
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from keras_dml import distances
from keras_dml._arrays import real
from keras_dml._backend import keras, ops
from keras_dml._backend.replicas import gathered
from keras_dml._typing import ArrayLike, Tensor
from keras_dml.geometry import prototypes
from keras_dml.labels import checked_labels
from keras_dml.layers.head import full_precision
from keras_dml.layers.learned_similarity import LearnedSimilarity

INITS = ("normal", "first_mean")
ROWS = ("prototypes", "visits", "counts", "added")
SPREAD = ("whitening", "spread")
# Weight by which the covariance of the examples is shrunk toward equal variances. The value was
# chosen with `zoo.new_classes`.
SHRINKAGE = 0.5
_OPTIONS = ("hidden", "slope", "dropout", "symmetry", "normalize")


@keras.saving.register_keras_serializable(package="keras_dml")
class PrototypeSimilarity(keras.layers.Layer):
    """Learned similarities S(z, c) between embeddings z and the prototype c of each class
    (Monteiro2020, Eq. 1).

    A prototype is an exponential moving average (EMA) of its class's embeddings. Prototypes are
    saved with the model. The method `update` moves the prototypes. No optimizer trains the
    prototypes. Three methods change the classes without training: `add_classes` appends classes,
    `remove_classes` deletes classes, and `set_prototypes` replaces all classes. If classes have
    been added, `keras_dml.geometry.prototypes.balanced` computes the scores of all classes, because
    S alone hardly ever prefers an added class. `keras_dml.models.PrototypicalClassifier` trains the
    layer together with an encoder.

    Three weights describe the classes: `prototypes`, `visits` and `counts`. `visits` counts the
    updates of each prototype. `counts` holds the number of embeddings that each prototype averages,
    or 0 if the prototype is a moving average. `refit` and `add_classes` also measure how far
    examples spread around the mean of their class. After the spread has been measured, `has_spread`
    is True, and the layer has three more weights. `added` is 1 for each class that was added after
    training and has not been trained since. `whitening` is a matrix that makes the spread equal in
    all directions. `spread` is the mean squared length of the whitened difference between an
    example and the mean of its class. If the spread is unknown, `spread` is 0.

    Input shape: `(batch, features)`, vectors. Output shape: `(batch, classes)`. The output holds
    unbounded logits of the classes, and has the dtype float32 or wider under any dtype policy.

    Args:
        classes: Number of classes, at least 1. Labels are 0 to `classes - 1`.
        decay: Weight of the old prototype when a prototype is updated, from 0 to 1 (lambda in
            Monteiro2020).
        init: Prototypes before training. `"normal"` draws normally distributed random numbers, as
            in Monteiro2020. `"first_mean"` sets a prototype to the mean of the class's embeddings
            in the first batch that contains the class.
        class_names: Names of the classes. Default: `"0"`, `"1"`, ...
        **options: Arguments that are passed to `LearnedSimilarity`: `hidden`, `slope`, `dropout`,
            `symmetry`, `normalize`.

    Raises:
        ValueError: If an argument is out of range, if two classes have the same name, or if the
            inputs are not vectors.

    Example:
        >>> layer = PrototypeSimilarity(classes=2, hidden=(4,))
        >>> z = np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 0.0]], "float32")
        >>> layer.set_prototypes([[0.0, 2.0], [1.0, 0.0]])
        >>> layer.add_classes(["new"], z[:2], [0, 0])
        >>> layer(z).shape, layer.class_names
        (TensorShape([3, 3]), ['0', '1', 'new'])
    """

    has_spread = False

    def __init__(
        self,
        classes: int,
        *,
        decay: float = 0.9,
        init: str = "normal",
        class_names: Sequence[str] | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        name: str | None = None,
        **options: Any,
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
        self.class_names = _distinct_names(names, int(classes))
        self.similarity = LearnedSimilarity(**options, dtype=self.dtype, name="similarity")

    @property
    def classes(self) -> int:
        """Number of classes that the layer has now."""
        return len(self.class_names)

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 2 or input_shape[1] is None:
            raise ValueError(
                "PrototypeSimilarity needs vectors of known width, shape (batch, features). "
                f"Received shape {tuple(input_shape)}. End the encoder with a pooling "
                "layer, or with `keras.layers.Flatten` and `keras.layers.Dense`."
            )
        self.similarity.build(input_shape, (self.classes, input_shape[1]))
        self._make_state(input_shape[1], self.classes, self.has_spread)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        similarities = self.similarity(inputs, self.prototypes, training=training)
        if training or not self.has_spread or inputs.shape[0] == 0:
            return similarities
        state = (self.prototypes, self.added, self.whitening, self.spread, self.counts)
        rows, added, *rest = map(ops.convert_to_tensor, state)
        z = ops.cast(inputs, rows.dtype)
        return prototypes.balanced(similarities, z, rows, added > 0, *rest)

    def update(self, z: Tensor, labels: Tensor) -> None:
        """Moves the prototype of each class in a batch toward the mean of the class's embeddings in
        the batch. The prototypes are exponential moving averages (Monteiro2020, Algorithm 1).

        In distributed training, all replicas make the same update. No gradient passes through the
        update.

        Args:
            z: Embeddings, shape `(batch, features)`.
            labels: Class ids, int32, shape `(batch,)`. -1 marks a row without a class.
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
        if self.has_spread:  # a class updated by training no longer counts as added
            self.added.assign(ops.where(present, 0, ops.convert_to_tensor(self.added)))

    def set_prototypes(
        self,
        values: ArrayLike,
        class_names: Sequence[str] | None = None,
        *,
        counts: ArrayLike | None = None,
    ) -> None:
        """Replaces all classes by new classes with the given prototypes.

        Args:
            values: Prototypes, shape `(classes, features)`.
            class_names: Class name of each row. By default, the names and the number of classes
                stay the same.
            counts: Number of embeddings that were averaged for each prototype. `extend_class` needs
                these numbers. By default, the numbers are unknown.

        Raises:
            ValueError: If the number of features is wrong, if a value is not finite, if the number
                of names or counts differs from the number of rows, or if a name appears twice.
                After an error, the layer is unchanged.
        """
        values = self._checked(values, "prototypes")
        names = self.class_names if class_names is None else class_names
        names = _distinct_names(names, len(values))
        counts = np.zeros(len(values)) if counts is None else real("`counts`", counts)
        if counts.shape != (len(values),):
            raise ValueError(
                f"`counts` must hold one number for each row, shape ({len(values)},). Received "
                f"shape {counts.shape}."
            )
        if not (np.isfinite(counts) & (counts >= 0)).all():
            raise ValueError(f"`counts` must be at least 0. Received {counts.tolist()}.")
        rows = {"prototypes": values, "visits": np.ones(len(values)), "counts": counts}
        self._assign(names, **rows, added=np.zeros(len(values)))

    def add_classes(self, class_names: Sequence[str], z: ArrayLike, labels: ArrayLike) -> None:
        """Appends classes. The prototype of a new class is the mean of the class's support
        embeddings.

        The prototypes and similarities of the old classes stay the same bit for bit. The nearest
        class mean decides whether an input gets an old or an added class (see
        `keras_dml.geometry.prototypes.balanced`). `refit` measures how the examples of the old
        classes spread around their class means. Before computing distances from class means, the
        method whitens the embeddings by the measured spread. If `refit` was not called, and a new
        class has at least two support embeddings, the method measures the spread on the support
        embeddings. Without a measured spread, the distances are Euclidean.

        Args:
            class_names: Names of the new classes.
            z: Support embeddings, shape `(count, features)`.
            labels: Class of each row, shape `(count,)`, as names or as indices of `class_names`.

        Raises:
            ValueError: If an existing class already has a name in `class_names`, if a name appears
                twice, if a class has no row, if a label is not among the new classes, or if a row
                is not finite. After an error, the layer is unchanged.
        """
        names = _new_names(class_names, self.class_names)
        z = self._checked(z, "z")
        means, counts, differences = _class_means(z, labels, names)
        ones, state = np.ones(len(means)), self._state()
        new = {"prototypes": means, "visits": ones, "counts": counts, "added": ones}
        rows = {key: np.concatenate([state[key], values]) for key, values in new.items()}
        spread = self._spread_or(differences, len(names))
        self._assign([*self.class_names, *names], **rows, **spread)

    def extend_class(self, class_name: str, z: ArrayLike) -> None:
        """Adds support embeddings to a class whose prototype is a mean of embeddings.

        Args:
            class_name: Name of a class whose prototype is the mean of a known number of embeddings.
            z: Embeddings, shape `(count, features)`.

        Raises:
            ValueError: If the class does not exist, or if its prototype is a moving average from
                training.
        """
        if class_name not in self.class_names:
            raise ValueError(
                f"The class {class_name!r} does not exist. Add the class by `add_classes`."
            )
        z = self._checked(z, "z")
        row = self.class_names.index(class_name)
        state = self._state()
        values, counts = state["prototypes"], state["counts"]
        if not counts[row]:
            raise ValueError(
                f"The prototype of {class_name!r} is a moving average from training, so its number "
                "of embeddings is unknown. First compute the prototype from examples by the "
                "model's `refit_prototypes(x, y)` or by this layer's `refit(z, labels)`."
            )
        total = counts[row] + len(z)
        values[row] = (counts[row] * values[row] + z.sum(axis=0)) / total
        counts[row] = total
        spread = self._spread_or(z - z.mean(axis=0), 1) if state["added"][row] else {}
        self._assign(self.class_names, **state, **spread)

    def remove_classes(self, class_names: Sequence[str]) -> list[int]:
        """Removes the prototypes, visits, counts and names of classes.

        The prototypes of the remaining classes stay the same bit for bit. The ids of the classes
        after a removed class decrease, because ids are indices of `class_names`.

        Args:
            class_names: Names of the classes to remove. At least one class must remain.

        Returns:
            List of the former ids of the removed classes.

        Raises:
            ValueError: If a name is not among the classes or appears twice, or if no class would
                remain. After an error, the layer is unchanged.
        """
        rows = _class_rows(class_names, self.class_names)
        if len(rows) == self.classes:
            raise ValueError(
                f"At least one class must remain. Received the names of all {self.classes} "
                "classes. To replace all classes, use `set_prototypes`."
            )
        remaining = np.setdiff1d(np.arange(self.classes), rows)
        names = [self.class_names[row] for row in remaining]
        if self.built:
            state = {key: values[remaining] for key, values in self._state().items()}
            self._assign(names, **state)
        self.class_names = names
        return rows

    def refit(self, z: ArrayLike, labels: ArrayLike) -> None:
        """Sets each prototype to the mean of its class's embeddings.

        If a class has at least two embeddings, the method also measures how far embeddings spread
        around the mean of their class. `add_classes` uses the measured spread later.

        Args:
            z: Embeddings, shape `(count, features)`.
            labels: Class of each row, shape `(count,)`, as ids or as names. Every class needs at
                least one row.

        Raises:
            ValueError: If a class has no row, if a label is not among the classes, or if a row is
                not finite.
        """
        means, counts, differences = _class_means(self._checked(z, "z"), labels, self.class_names)
        rows = {"prototypes": means, "visits": np.ones(len(means)), "counts": counts}
        spread = _whitening(differences, len(means), SHRINKAGE)
        spread = dict(zip(SPREAD, spread, strict=True)) if spread else {}
        self._assign(self.class_names, **rows, added=self._state()["added"], **spread)

    def without_visits(self) -> list[str]:
        """Returns the names of the classes whose prototypes still have their initial values."""
        visits = np.asarray(ops.convert_to_numpy(self.visits))
        return [name for name, count in zip(self.class_names, visits, strict=True) if not count]

    def make_room(self, class_names: Sequence[str], has_spread: bool) -> None:
        """Creates weights that have the same shapes as the weights in a saved model file.

        Args:
            class_names: Names of the classes in the file.
            has_spread: Whether the model file holds `added`, `whitening` and `spread`.
        """
        if (len(class_names), has_spread) != (self.classes, self.has_spread):
            features = self.prototypes.shape[1]
            self._make_state(features, len(class_names), has_spread)
        self.class_names = list(class_names)

    @property
    def distance(self) -> distances.Distance:
        """Distance `d(x, y) = -S(x, y)` between embeddings."""
        return self.similarity.distance

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (input_shape[0], self.classes)

    def get_config(self) -> dict[str, Any]:
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
    def from_config(cls, config: dict[str, Any]) -> Self:
        config = dict(config)
        has_spread = config.pop("has_spread", False)
        layer = cls(**config)
        layer.has_spread = has_spread
        return layer

    def _make_state(self, features, classes, has_spread):
        """Creates new weights in place of the weights whose shapes change. The new weights are
        always created in the same order."""
        shapes = {"prototypes": (classes, features), "visits": (classes,), "counts": (classes,)}
        if has_spread:
            shapes |= {"added": (classes,), "whitening": (features, features), "spread": ()}
        if hasattr(self, "prototypes") and self.prototypes.shape[0] == classes:
            shapes = {name: shape for name, shape in shapes.items() if not hasattr(self, name)}
        built = self.built
        self._tracker.unlock()  # Keras refuses new weights of a built layer
        for name, shape in shapes.items():
            if hasattr(self, name):
                self._untrack_variable(getattr(self, name))
            normal = keras.initializers.RandomNormal(stddev=1.0)
            weight = self.add_weight(
                name=name,
                shape=shape,
                initializer=normal if name == "prototypes" else "zeros",
                trainable=False,
                # Every replica gathers the rows of all replicas and computes the same update.
                aggregation="only_first_replica",
            )
            setattr(self, name, weight)
        if built:
            self._tracker.lock()
        self.has_spread = has_spread

    def _state(self):
        """Returns the weights that have one row per class, as a dictionary from names to NumPy
        arrays.

        `added` is all zeros if no class has been added.
        """
        present = [name for name in ROWS if hasattr(self, name)]
        state = {name: np.array(ops.convert_to_numpy(getattr(self, name))) for name in present}
        return {"added": np.zeros(self.classes), **state}

    def _spread_or(self, differences, classes):
        """Returns a dictionary with new values of `whitening` and `spread`. The dictionary is empty
        if the spread is already known.

        Args:
            differences: Differences between embeddings and the means of their classes, shape
                `(count, features)`.
            classes: Number of classes in `differences`.
        """
        if self.has_spread and float(ops.convert_to_numpy(self.spread)):
            return {}
        measured = _whitening(differences, classes, SHRINKAGE)
        if measured is None and not self.has_spread:
            measured = np.eye(differences.shape[1]), 0.0
        return {} if measured is None else dict(zip(SPREAD, measured, strict=True))

    def _assign(self, names, **values):
        """Assigns new values to the weights that describe the classes. If the number or the shapes
        of the weights change, the method creates new weights."""
        has_spread = self.has_spread or "whitening" in values
        if (len(names), has_spread) != (self.prototypes.shape[0], self.has_spread):
            if self.has_spread:
                spread = {name: ops.convert_to_numpy(getattr(self, name)) for name in SPREAD}
                values = {**spread, **values}
            self._make_state(self.prototypes.shape[1], len(names), has_spread)
        self.class_names = list(names)
        for name, value in values.items():
            if hasattr(self, name):
                getattr(self, name).assign(value)

    def _checked(self, z, name):
        z = real(f"`{name}`", z, np.float64)
        if not self.built and z.ndim == 2:
            self.build(z.shape)
        features = self.prototypes.shape[1] if self.built else None
        return _checked_vectors(z, name, features)


def _distinct_names(names, rows=None):
    """Checks the names of classes and returns a list of strings.

    Args:
        names: List of names.
        rows: Required number of names. Default: any number.

    Raises:
        ValueError: If `names` is a single string, if the number of names is wrong, or if a name
            appears twice.
    """
    if names is None or isinstance(names, str):
        raise ValueError(f"`class_names` must be a list of names. Received {names!r}.")
    names = [str(name) for name in names]
    if rows is not None and len(names) != rows:
        raise ValueError(
            f"`class_names` must hold one name for each of {rows} classes. Received {len(names)} "
            "names."
        )
    repeated = [name for name, count in collections.Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"`class_names` must contain each name once. Names that appear twice: {repeated[:8]}."
        )
    return names


def _new_names(names, present):
    """Checks the names of classes that are added to existing classes, and returns a list of names.

    Raises:
        ValueError: If `names` is empty, if a name appears twice, or if an existing class already
            has a name in `names`.
    """
    names = _distinct_names(names)
    if not names:
        raise ValueError("`class_names` is empty. Give at least one name.")
    duplicates = sorted(set(names) & set(present))
    if duplicates:
        raise ValueError(
            f"There are already classes named {duplicates}. Add examples to an existing class with "
            "`extend_class`, or give the new class another name."
        )
    return names


def _class_rows(names, present):
    """Returns the row numbers of classes with the given names.

    Args:
        names: Names of classes, without repetition.
        present: Names of all classes.

    Raises:
        ValueError: If `names` is empty, if a name appears twice, or if a name is not among the
            classes.
    """
    names = _distinct_names(names)
    unknown = [name for name in names if name not in present]
    if unknown or not names:
        raise ValueError(
            f"`class_names` must name some of the classes. Received {names[:8]}, of which "
            f"{unknown[:8]} are not classes."
        )
    return [present.index(name) for name in names]


def _class_means(z, labels, names):
    """Computes the mean of the embeddings of each class.

    Args:
        z: Embeddings, shape `(count, features)`.
        labels: Class of each row, shape `(count,)`, as indices of `names` or as names.
        names: Names of the classes.

    Returns:
        Means, shape `(classes, features)`. Numbers of examples, shape `(classes,)`. Differences
        between the embeddings and the means of their classes, shape `(count, features)`.

    Raises:
        ValueError: If a class has no row, or if a label is not among the classes.
    """
    labels = checked_labels(_indices(labels, names), len(z), len(names))
    counts = np.bincount(labels, minlength=len(names))
    if not counts.all():
        missing = [name for name, count in zip(names, counts, strict=True) if not count]
        raise ValueError(
            f"Every class needs at least one example. Classes without examples: {missing}."
        )
    sums = np.zeros((len(names), z.shape[1]))
    np.add.at(sums, labels, z)
    means = sums / counts[:, None]
    return means, counts, z - means[labels]


def _whitening(differences, classes, shrinkage):
    """Computes a matrix that makes the spread of examples around class means equal in all
    directions (linear discriminants, Fisher1936). The function shrinks the covariance of the
    examples toward equal variances.

    Args:
        differences: Differences between embeddings and the means of their classes, shape
            `(count, features)`.
        classes: Number of classes in `differences`.
        shrinkage: Smallest weight by which the covariance is shrunk toward equal variances, from 0
            to 1. If there are few examples compared with the number of features, the weight is
            larger than `shrinkage`.

    Returns:
        `(W, spread)`. W is the whitening matrix, shape `(features, features)`. `spread` is the mean
        of `|W'd|^2` over all differences d. The result is None if all differences are 0 or no class
        has two examples.
    """
    count, features = differences.shape
    if count <= classes or not differences.any():
        return None
    free = count - classes
    variances, axes = np.linalg.eigh(differences.T @ differences / free)
    shrinkage = max(shrinkage, features / (features + free))
    shrunk = (1 - shrinkage) * np.maximum(variances, 0) + shrinkage * variances.mean()
    return axes / np.sqrt(shrunk), float(np.sum(variances / shrunk))


def _checked_vectors(z, name, features):
    """Checks embeddings and returns them as an array.

    Args:
        z: Embeddings, shape `(count, features)`.
        name: Name of the argument, for error messages.
        features: Required number of features. None accepts any number.

    Raises:
        ValueError: If the shape is wrong, if the array is empty, or if a row is not finite.
    """
    if z.ndim != 2 or z.shape[1] != features or not len(z):
        raise ValueError(
            f"`{name}` must hold at least one embedding, shape (count, {features or 'features'}). "
            f"Received shape {z.shape}."
        )
    if not np.isfinite(z).all():
        row = np.flatnonzero(~np.isfinite(z).all(axis=1))[0]
        raise ValueError(f"`{name}` holds NaN or infinity, first in row {row}. Leave the row out.")
    return z


def _indices(labels, names):
    """Replaces class names in labels by indices of `names`. Numbers are returned unchanged."""
    if not isinstance(labels, (list, tuple, np.ndarray)) or np.ma.isMaskedArray(labels):
        return labels
    array = np.array(labels, dtype=object)
    texts = [label.decode() if isinstance(label, bytes) else label for label in array.ravel()]
    if not texts or not all(isinstance(text, str) for text in texts):
        return labels
    unknown = sorted(set(texts) - set(names))
    if unknown:
        raise ValueError(
            f"`labels` must be names of the classes {names[:8]}, or ids. Received {unknown[:8]}. "
            "`numpy.unique(labels, return_inverse=True)` turns names into ids."
        )
    return np.reshape([names.index(text) for text in texts], array.shape)
