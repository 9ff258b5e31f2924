"""Embeddings, scores and decisions of a prototypical classifier in inference mode."""

import warnings

import numpy as np

from keras_dml._arrays import finite, real, whole
from keras_dml._backend import ops
from keras_dml.images import check_images
from keras_dml.models._choices import choose
from keras_dml.models._classifier_checks import check_batch, check_float_images
from keras_dml.models._prototypical_terms import auxiliary_cosines

HEADS = {"sim": "similarities to the prototypes", "dol": "logits of the auxiliary dense layer"}
BATCH = 256


class Scoring:
    """Mixin of `PrototypicalClassifier`: what it computes outside of training."""

    def embed(self, x):
        """Embeddings E(x) of a batch in inference mode, shape `(batch, features)`; differentiable.

        `keras_dml.embed(model, inputs)` embeds any number of inputs, in batches.

        Args:
            x: A batch of inputs; images are floats in [0, 1].

        Raises:
            TypeError: If `x` is not a tensor and holds anything but real numbers.
            ValueError: If `x` is not a batch of what the encoder takes, holds bytes of images, or
                is not a tensor and holds NaN or infinity.
        """
        x = ops.convert_to_tensor(_tensor_or("`x`", x, finite))
        check_batch(x.shape, x.dtype, self.encoder.input_shape)
        return self._encoded(x, training=False)

    def scores(self, x, head="sim"):
        """Logits of a batch in inference mode, shape `(batch, classes)`; differentiable in `x`.

        Args:
            x: A batch of inputs.
            head: `"sim"`, similarities to the prototypes, balanced for classes that were added
                (`add_classes`); `"dol"`, the auxiliary dense layer, which has the classes of
                training alone (with `aux="am"` its cosines).

        Raises:
            ValueError: Same as in `embed` and `head_scores`.
        """
        return self.head_scores(self.embed(x), head)

    def head_scores(self, z, head="sim"):
        """Logits of embeddings, shape `(batch, classes)`; see `scores`.

        Args:
            z: Embeddings, shape `(batch, features)`.
            head: Same as in `scores`.

        Raises:
            ValueError: For another head, or `"dol"` of a model without the auxiliary layer.
        """
        choose("head", head, HEADS)
        z = ops.convert_to_tensor(_tensor_or("`z`", z, real))
        if head == "sim":
            return self.prototypes_layer(z, training=False)
        if self.aux_head is None:
            raise ValueError(
                'The model was built with `aux=None` and has no "dol" head. Ask for head="sim".'
            )
        z = ops.cast(z, self.prototypes_layer.dtype)
        if self.aux == "softmax":
            return self.aux_head(z)
        return auxiliary_cosines(self.aux_head, z)

    def similarity(self, x, y):
        """S of all pairs of embeddings, shape `(n, m)`; higher is more similar.

        Args:
            x: Embeddings of probes, shape `(n, features)`.
            y: Enrolled embeddings, shape `(m, features)`.

        Raises:
            ValueError: If they are not vectors of the encoder's width.
        """
        pair = (("x", x), ("y", y))
        return self.prototypes_layer.similarity(
            *(ops.convert_to_tensor(_tensor_or(f"`{name}`", z, real)) for name, z in pair),
            training=False,
        )

    @property
    def distance(self):
        """The distance `d(x, y) = -S(x, y)` of embeddings."""
        return self.prototypes_layer.distance

    def classify(self, x, *, among=None, batch_size=BATCH):
        """The most similar class of each input (Monteiro2020, Eq. 4); ties go to the lowest row.

        If classes were added, the nearest class mean decides between them and the old ones, see
        `add_classes`.

        Args:
            x: Inputs, shape `(count, ...)`.
            among: Names of the classes to choose from; None: all.
            batch_size: Number of inputs per call of the model.

        Returns:
            Rows of `class_names`, shape `(count,)`.

        Raises:
            TypeError: Same as in `embed`.
            ValueError: If `among` is empty or names an unknown class, or if `x` is empty, is not a
                batch of what the encoder takes, or has a row whose scores are NaN.
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

    def _encoded(self, inputs, training, mask=None):
        check_float_images(inputs.dtype, self.encoder.input_shape)
        if mask is None:
            return self.encoder(inputs, training=training)
        return self.encoder(inputs, training=training, mask=mask)

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
        batch_size = whole("batch_size", batch_size, minimum=1)
        x = self._checked(x)
        parts = (x[i : i + batch_size] for i in range(0, len(x), batch_size))
        return np.concatenate([np.asarray(function(part)) for part in parts])

    def _checked(self, x):
        """Inputs as an array of finite numbers or as a tensor; images in [0, 1]."""
        if len(self.encoder.input_shape) == 4:
            check_images(x, self.encoder.input_shape[1:])
        x = _tensor_or("`x`", x, finite)
        check_batch(x.shape, x.dtype, self.encoder.input_shape)
        if x.shape[0] == 0:
            raise ValueError("`x` is empty; give at least one input.")
        return x


def _tensor_or(name, x, check):
    """A tensor as it is, anything else as the array that a check of `keras_dml._arrays` returns."""
    return x if ops.is_tensor(x) else check(name, x)
