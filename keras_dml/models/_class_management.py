"""Classes that are added, extended, replaced and removed without training."""

import numpy as np

from keras_dml._backend import ops
from keras_dml.models._scoring import BATCH


class ClassManagement:
    """Mixin of `PrototypicalClassifier`: its classes, which `prototypes_layer` holds."""

    @property
    def prototypes(self):
        """Prototypes, shape `(classes, features)`, NumPy."""
        return np.asarray(ops.convert_to_numpy(self.prototypes_layer.prototypes))

    @property
    def class_names(self):
        """Names of the rows of the prototypes."""
        return list(self.prototypes_layer.class_names)

    def add_classes(self, class_names, x, y, *, batch_size=BATCH):
        """Adds new classes from a few examples, without training.

        The prototype of a class is the mean embedding of its examples. The learned similarity
        hardly ever prefers a class it was not trained on, so the nearest class mean decides between
        old and new classes and among the new ones; see `keras_dml.geometry.prototypes.balanced`.
        Scores of the old classes do not change. Call `refit_prototypes` with training examples
        after training: it measures how far the examples of a class spread, which makes the decision
        better. Without it, as in the published models, the spread of the new examples is used, or
        the Euclidean distance if each class has one example.

        Expect new classes to be found less often than old ones. Among all classes, with five
        examples of each new class (`zoo/new_classes.md` of the checkout; encoders trained without
        the new classes), 89.5 % of new and 98.5 % of old digits were right (harmonic mean 93.7 %),
        88.2 and 92.8 % of speakers (90.3 %), 81.8 and 94.3 % of Omniglot's characters (87.4 %),
        46.6 and 40.0 % of CIFAR-10's photographs (41.9 %).
        `keras_dml.evaluation.generalized_accuracy` computes these figures for your data.

        Args:
            class_names: Names of the new classes.
            x: Examples of the new classes, shape `(count, ...)`.
            y: Class of each example, shape `(count,)`: its name or its index in `class_names`.
            batch_size: Number of inputs per call of the encoder.

        Raises:
            ValueError: Same as in `keras_dml.layers.PrototypeSimilarity.add_classes`.
        """
        self.prototypes_layer.add_classes(class_names, self._embedded(x, batch_size), y)
        self._forget_functions()

    def extend_class(self, class_name, x, *, batch_size=BATCH):
        """Adds further examples to the prototype of a class.

        Args:
            class_name: Name of a class whose prototype is a mean of known count.
            x: Examples, shape `(count, ...)`.
            batch_size: Number of inputs per call of the encoder.

        Raises:
            ValueError: Same as in `keras_dml.layers.PrototypeSimilarity.extend_class`.
        """
        self.prototypes_layer.extend_class(class_name, self._embedded(x, batch_size))

    def remove_classes(self, class_names):
        """Removes classes: their prototypes, counts, names and units of the auxiliary head.

        The other prototypes stay the same bit for bit, and their ids move down, so that class ids
        stay indices of `class_names`, in training too. If the auxiliary head loses a unit, the
        optimizer starts again, as its moments hold gradients of that unit. A model that wraps this
        one, such as `AdversarialTraining`, must be compiled again. What the encoder learned from
        the examples of a class stays in its weights.

        Args:
            class_names: Names of the classes to remove; at least one class must be left.

        Raises:
            ValueError: If a name is not among the classes or appears twice, or no class would be
                left. Nothing is changed then.
        """
        rows = self.prototypes_layer.remove_classes(class_names)
        if self.aux_head is not None and min(rows) < self.aux_head.units:
            self._remove_auxiliary_units(rows)
        self._forget_functions()

    def set_prototypes(self, values, class_names=None):
        """Replaces all classes; the auxiliary head keeps those of training.

        Args:
            values: Prototypes, shape `(classes, features)`.
            class_names: Names of the classes; None: the present ones.

        Raises:
            ValueError: Same as in `keras_dml.layers.PrototypeSimilarity.set_prototypes`.
        """
        self.prototypes_layer.set_prototypes(values, class_names)
        self._forget_functions()

    def refit_prototypes(self, x, y, *, batch_size=BATCH):
        """Sets each prototype to its class's mean embedding in inference mode.

        The moving means of training lag behind the encoder, and they are means of embeddings in
        training mode, with dropout and with the statistics of a batch. The spread of the embeddings
        around their means is measured too, for `add_classes`.

        Args:
            x: Examples of every class, shape `(count, ...)`.
            y: Class of each example, shape `(count,)`: its id or its name.
            batch_size: Number of inputs per call of the encoder.

        Raises:
            ValueError: If a class has no example, or a label is not among the classes.
        """
        self.prototypes_layer.refit(self._embedded(x, batch_size), y)

    def _remove_auxiliary_units(self, rows):
        old = self.aux_head
        kept = np.setdiff1d(np.arange(old.units), rows)
        weights = [np.take(weight, kept, axis=-1) for weight in old.get_weights()]
        self._tracker.unlock()  # a built model takes no new layer
        self._tracker.untrack(old)
        self.aux_head = None
        if len(kept):
            self.aux_head = old.from_config({**old.get_config(), "units": len(kept)})
            self.aux_head.build(self.encoder.output_shape)
            self.aux_head.set_weights(weights)
        else:
            self.aux = None
        self._tracker.lock()
        self._renew_optimizer()

    def _renew_optimizer(self):
        if self.compiled:
            self.optimizer = self.optimizer.from_config(self.optimizer.get_config())
            self.optimizer.build(self.trainable_variables)

    def _forget_functions(self):
        """Compiled functions hold the old number of classes."""
        self.train_function = self.test_function = self.predict_function = None
