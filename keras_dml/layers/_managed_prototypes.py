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
)


class ManagedPrototypes:
    """Mixin of `PrototypeSimilarity`: its weights `prototypes`, `visits` and `counts`, and the
    classes that they are rows of."""

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
        self._assign(values, np.ones(len(values)), counts, names)

    def add_classes(self, class_names, z, labels):
        """Appends classes, each with the mean of its support embeddings.

        The other classes keep their bits.

        Args:
            class_names: Names of the new classes.
            z: Support embeddings, shape `(count, features)`.
            labels: Class of each row, shape `(count,)`: its name or its index in `class_names`.

        Raises:
            ValueError: If a name is present already or appears twice, a class has no row, a label
                is not among the new classes, or a row is not finite. Nothing is changed then.
        """
        names = new_names(class_names, self.class_names)
        means, counts = class_means(self._checked(z, "z"), labels, names)
        old, visits, old_counts = self._state()
        self._assign(
            np.concatenate([old, means]),
            np.concatenate([visits, np.ones(len(means))]),
            np.concatenate([old_counts, counts]),
            [*self.class_names, *names],
        )

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
        values, visits, counts = self._state()
        if not counts[row]:
            raise ValueError(
                f"The prototype of {class_name!r} is a moving mean of unknown count. Compute it "
                "from examples first: `refit_prototypes(x, y)` of the model, or `refit(z, labels)` "
                "of this layer."
            )
        total = counts[row] + len(z)
        values[row] = (counts[row] * values[row] + z.sum(axis=0)) / total
        counts[row] = total
        self._assign(values, visits, counts, self.class_names)

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
            self._assign(*(values[kept] for values in self._state()), names)
        self.class_names = names
        return rows

    def refit(self, z, labels):
        """Sets each prototype to the mean of its class's embeddings.

        Args:
            z: Embeddings, shape `(count, features)`.
            labels: Class of each row, shape `(count,)`: its id or its name. Every class needs a
                row.

        Raises:
            ValueError: If a class has no row, a label is not among the classes, or a row is not
                finite.
        """
        means, counts = class_means(self._checked(z, "z"), labels, self.class_names)
        self._assign(means, np.ones(len(means)), counts, self.class_names)

    def without_visits(self):
        """Names of the classes whose prototypes still have their initial values."""
        visits = np.asarray(ops.convert_to_numpy(self.visits))
        return [name for name, seen in zip(self.class_names, visits, strict=True) if not seen]

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

    def _checked(self, z, name):
        z = real(f"`{name}`", z, np.float64)
        if not self.built and z.ndim == 2:
            self.build(z.shape)
        features = self.prototypes.shape[1] if self.built else None
        return checked_vectors(z, name, features)
