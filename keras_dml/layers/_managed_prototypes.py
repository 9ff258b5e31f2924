"""Prototypes of named classes, as weights whose number changes when classes come and go."""

import numpy as np

from keras_dml._arrays import real
from keras_dml._backend import keras, ops
from keras_dml.layers._classes import (
    checked_vectors,
    class_means,
    distinct_names,
    new_names,
    rows_of,
    whitening,
)

ROWS = ("prototypes", "visits", "counts", "added")
SPREAD = ("whitening", "spread")
SHRINKAGE = 0.5
"""Weight of equal variances in the covariance of a class, chosen by `zoo.new_classes`."""


class ManagedPrototypes:
    """Mixin of `PrototypeSimilarity`: its weights `prototypes`, `visits` and `counts`, and the
    classes that they are rows of.

    Once examples have shown how far those of a class spread (`refit`, `add_classes`), `has_spread`
    is true, and there are three more weights: `added`, 1 for each class that was added and not
    trained since; `whitening`, which makes that spread equal in all directions; and `spread`, the
    mean squared length of a whitened difference from the class mean, 0 if not known.
    """

    has_spread = False

    def set_prototypes(self, values, class_names=None, *, counts=None):
        """Replaces all prototypes, and with them the classes.

        Args:
            values: Prototypes, shape `(classes, features)`.
            class_names: One name a row; None keeps the present names, and their number.
            counts: Number of embeddings that each row is the mean of, which `extend_class` needs;
                None: not known.

        Raises:
            ValueError: For another width, values that are not finite, another number of names or
                counts than rows, or a name that appears twice. Nothing is changed then.
        """
        values = self._checked(values, "prototypes")
        names = self.class_names if class_names is None else class_names
        names = distinct_names(names, len(values))
        counts = np.zeros(len(values)) if counts is None else real("`counts`", counts)
        if counts.shape != (len(values),):
            raise ValueError(
                f"`counts` must be one number a row, shape ({len(values)},). Received shape "
                f"{counts.shape}."
            )
        if not (np.isfinite(counts) & (counts >= 0)).all():
            raise ValueError(f"`counts` must be at least 0. Received {counts.tolist()}.")
        rows = {"prototypes": values, "visits": np.ones(len(values)), "counts": counts}
        self._assign(names, **rows, added=np.zeros(len(values)))

    def add_classes(self, class_names, z, labels):
        """Appends classes, each with the mean of its support embeddings.

        The prototypes and similarities of the other classes keep their bits. The nearest class mean
        decides between old and added classes, see `keras_dml.geometry.prototypes.balanced`: in
        distances whitened by the spread of the old classes' examples, which `refit` measures.
        Without `refit` the support shows the spread if a class has two examples, and the distances
        are Euclidean if none has.

        Args:
            class_names: Names of the new classes.
            z: Support embeddings, shape `(count, features)`.
            labels: Class of each row, shape `(count,)`: its name or its index in `class_names`.

        Raises:
            ValueError: If a name is present already or appears twice, a class has no row, a label
                is not among the new classes, or a row is not finite. Nothing is changed then.
        """
        names = new_names(class_names, self.class_names)
        z = self._checked(z, "z")
        means, counts, differences = class_means(z, labels, names)
        ones, state = np.ones(len(means)), self._state()
        new = {"prototypes": means, "visits": ones, "counts": counts, "added": ones}
        rows = {key: np.concatenate([state[key], values]) for key, values in new.items()}
        spread = self._spread_or(differences, len(names))
        self._assign([*self.class_names, *names], **rows, **spread)

    def extend_class(self, class_name, z):
        """Adds further support embeddings to the mean of a class.

        Args:
            class_name: Name of a class whose prototype is a mean of known count.
            z: Embeddings, shape `(count, features)`.

        Raises:
            ValueError: If there is no such class, or its prototype is a moving mean of
                training, whose count is not known.
        """
        if class_name not in self.class_names:
            raise ValueError(f"There is no class {class_name!r}; `add_classes` adds one.")
        z = self._checked(z, "z")
        row = self.class_names.index(class_name)
        state = self._state()
        values, counts = state["prototypes"], state["counts"]
        if not counts[row]:
            raise ValueError(
                f"The prototype of {class_name!r} is a moving mean of unknown count. Compute it "
                "from examples first: `refit_prototypes(x, y)` of the model, or `refit(z, labels)` "
                "of this layer."
            )
        total = counts[row] + len(z)
        values[row] = (counts[row] * values[row] + z.sum(axis=0)) / total
        counts[row] = total
        spread = self._spread_or(z - z.mean(axis=0), 1) if state["added"][row] else {}
        self._assign(self.class_names, **state, **spread)

    def remove_classes(self, class_names):
        """Removes the prototypes, visits, counts and names of classes.

        The others keep their bits and move up: ids are indices of `class_names`.

        Args:
            class_names: Names of the classes to remove; at least one class must be left.

        Returns:
            Rows that were removed, a list.

        Raises:
            ValueError: If a name is not among the classes or appears twice, or no class would be
                left. Nothing is changed then.
        """
        rows = rows_of(class_names, self.class_names)
        if len(rows) == self.classes:
            raise ValueError(
                f"At least one class must be left. Received all {self.classes} of them. "
                "`set_prototypes` replaces all classes."
            )
        kept = np.setdiff1d(np.arange(self.classes), rows)
        names = [self.class_names[row] for row in kept]
        if self.built:
            self._assign(names, **{key: values[kept] for key, values in self._state().items()})
        self.class_names = names
        return rows

    def refit(self, z, labels):
        """Sets each prototype to the mean of its class's embeddings.

        Measures how far the embeddings spread around their means too, if a class has two, for
        classes that are added later.

        Args:
            z: Embeddings, shape `(count, features)`.
            labels: Class of each row, shape `(count,)`: its id or its name. Every class needs a
                row.

        Raises:
            ValueError: If a class has no row, a label is not among the classes, or a row is not
                finite.
        """
        means, counts, differences = class_means(self._checked(z, "z"), labels, self.class_names)
        rows = {"prototypes": means, "visits": np.ones(len(means)), "counts": counts}
        spread = whitening(differences, len(means), SHRINKAGE)
        spread = dict(zip(SPREAD, spread, strict=True)) if spread else {}
        self._assign(self.class_names, **rows, added=self._state()["added"], **spread)

    def without_visits(self):
        """Names of the classes whose prototypes still have their initial values."""
        visits = np.asarray(ops.convert_to_numpy(self.visits))
        return [name for name, seen in zip(self.class_names, visits, strict=True) if not seen]

    def make_room(self, class_names, has_spread):
        """Makes weights of the shapes that a file holds, for classes of these names.

        Args:
            class_names: Names of the classes.
            has_spread: Whether the file holds `added`, `whitening` and `spread`.
        """
        if (len(class_names), has_spread) != (self.classes, self.has_spread):
            features = self.prototypes.shape[1]
            self._make_state(features, len(class_names), has_spread)
        self.class_names = list(class_names)

    def _make_state(self, features, classes, has_spread):
        """New weights of the state in place of those of another shape, always in one order."""
        shapes = {"prototypes": (classes, features), "visits": (classes,), "counts": (classes,)}
        if has_spread:
            shapes |= {"added": (classes,), "whitening": (features, features), "spread": ()}
        if hasattr(self, "prototypes") and self.prototypes.shape[0] == classes:
            shapes = {name: shape for name, shape in shapes.items() if not hasattr(self, name)}
        built = self.built
        self._tracker.unlock()  # a built layer takes no new weight
        for name, shape in shapes.items():
            if hasattr(self, name):
                self._untrack_variable(getattr(self, name))
            normal = keras.initializers.RandomNormal(stddev=1.0)
            weight = self.add_weight(
                name=name,
                shape=shape,
                initializer=normal if name == "prototypes" else "zeros",
                trainable=False,
                # Every replica computes the same update from what all of them have gathered.
                aggregation="only_first_replica",
            )
            setattr(self, name, weight)
        if built:
            self._tracker.lock()
        self.has_spread = has_spread

    def _state(self):
        """The rows of the state by name, NumPy; `added` is 0 where no class has been added."""
        present = [name for name in ROWS if hasattr(self, name)]
        state = {name: np.array(ops.convert_to_numpy(getattr(self, name))) for name in present}
        return {"added": np.zeros(self.classes), **state}

    def _spread_or(self, differences, classes):
        """Values of `whitening` and `spread`: the measured ones if `spread` is not known yet."""
        if self.has_spread and float(ops.convert_to_numpy(self.spread)):
            return {}
        measured = whitening(differences, classes, SHRINKAGE)
        if measured is None and not self.has_spread:
            measured = np.eye(differences.shape[1]), 0.0
        return {} if measured is None else dict(zip(SPREAD, measured, strict=True))

    def _assign(self, names, **values):
        """New values of the state, in new weights if their number or shapes change."""
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
        return checked_vectors(z, name, features)
