"""Compiled logits, margins and gradients of a network under attack."""

from __future__ import annotations

import functools

import numpy as np

from keras_dml._backend import ops
from keras_dml._backend.gradients import compiled, value_and_gradient
from keras_dml.geometry import vector
from keras_dml.losses import robust

HEADS = ("sim", "dol")
SOURCES = (*HEADS, "cosine")
LOSSES = {"cross_entropy": robust.cross_entropy, "margin": robust.margin, "dlr": robust.dlr}
SMALLEST_BATCH = 32


class Network:
    """A model in inference mode, one head of which is attacked, with the weights of the first call.

    Batches are padded to a power of two rows or to `batch_size`, so that few shapes are compiled.

    Args:
        model: A model with `embed(x)` and `head_scores(z, head)`, or one whose output is logits.
        head: The attacked head, `"sim"` or `"dol"`; None for a model with one output.
        batch_size: Largest number of rows in a call.
    """

    def __init__(self, model, head, batch_size):
        self.model, self.head, self.batch_size = model, head, batch_size
        self._logits = compiled(lambda x: self._scores(x, head)[0])
        self._gradients = {}

    def logits(self, x):
        """Raw logits of a batch, shape `(count, classes)`, NumPy."""
        return np.asarray(self._logits(self._padded(x)))[: len(x)]

    def margins(self, x, y):
        """Margins, above 0 exactly where the input is misclassified, shape `(count,)`, NumPy."""
        return np.array(robust.margin(np.asarray(y, np.int32), self.logits(x)))

    def gradient(self, x, y, loss, *, source=None, probabilities=False, targets=None):
        """Loss of each example, its gradient in the inputs, 0 where that is not finite, and margin.

        Args:
            x: Inputs, shape `(count, ...)`.
            y: Class ids, shape `(count,)`.
            loss: Name in `LOSSES`.
            source: Head whose loss it is, one of `SOURCES`; None: the attacked one.
            probabilities: Whether to pass probabilities to the loss in place of logits.
            targets: Class ids, shape `(count,)`, for the targeted DLR in place of `loss`.

        Returns:
            Values, shape `(count,)`; gradient, of the shape of `x`; margins of the attacked head,
            shape `(count,)`; number of entries of the gradient that were not finite. All NumPy.
        """
        key = (loss, source or self.head, probabilities, targets is not None)
        if key not in self._gradients:
            self._gradients[key] = compiled(functools.partial(self._gradient, *key))
        given = (
            x,
            np.asarray(y, np.int32),
            np.asarray(y if targets is None else targets, np.int32),
        )
        found = self._gradients[key](*map(self._padded, given))
        values, gradient, margins = (np.asarray(one)[: len(x)] for one in found)
        finite = np.isfinite(gradient)
        if finite.all():
            return values, gradient, margins, 0
        return values, np.where(finite, gradient, 0), margins, int(np.sum(~finite))

    def _gradient(self, loss, source, probabilities, targeted, x, y, targets):
        """Values, gradient, and margins of the attacked head in one pass."""

        def values_of(x):
            attacked, scores = self._scores(x, self.head, source)
            margins = robust.margin(y, attacked)
            if probabilities:
                scores = ops.softmax(scores, axis=1)
            if targeted:
                return robust.targeted_dlr(y, targets, scores), margins
            return LOSSES[loss](y, scores), margins

        (values, margins), gradient = value_and_gradient(values_of, x, has_aux=True)
        return values, gradient, margins

    def _scores(self, x, *heads):
        """Logits of several heads on one embedding."""
        if self.head is None:
            return [self.model(x, training=False)] * len(heads)
        z = self.model.embed(x)
        return [self._head_scores(z, head) for head in heads]

    def _head_scores(self, z, head):
        if head == "cosine":
            return vector.cosine(z, ops.convert_to_tensor(self.model.prototypes_layer.prototypes))
        return self.model.head_scores(z, head)

    def _padded(self, values):
        rows = len(values)
        size = max(min(self.batch_size, SMALLEST_BATCH), 1 << (rows - 1).bit_length())
        size = max(rows, min(self.batch_size, size))
        padding = [(0, size - rows)] + [(0, 0)] * (np.ndim(values) - 1)
        return ops.convert_to_tensor(np.pad(values, padding))
