"""Compiled logits, margins and gradients of one head of a network, for attacks."""

from __future__ import annotations

import functools

import numpy as np

from keras_dml._backend import ops
from keras_dml._backend.gradients import compiled, value_and_gradient
from keras_dml.losses import robust

LOSSES = {"cross_entropy": robust.cross_entropy, "margin": robust.margin}


class Network:
    """One head of a model in inference mode, with the weights of the first call.

    Batches are padded to a power of two rows or to `batch_size`, so that few shapes are compiled.

    Args:
        model: A model with `scores(x, head=...)`, or one whose output is logits.
        head: `"sim"` or `"dol"`; None for a model with one output.
        batch_size: Largest number of rows in a call.
    """

    def __init__(self, model, head, batch_size):
        self.batch_size = batch_size
        self._scores = (
            functools.partial(model, training=False)
            if head is None
            else functools.partial(model.scores, head=head)
        )
        self._logits = compiled(self._scores)
        self._gradients = {}

    def logits(self, x):
        """Raw logits of a batch, shape `(count, classes)`, a tensor."""
        return self._logits(self._padded(x))[: len(x)]

    def margins(self, x, y):
        """Margins, above 0 exactly where the input is misclassified, shape `(count,)`, NumPy."""
        return np.array(robust.margin(np.asarray(y, np.int32), self.logits(x)))

    def gradient(self, x, y, loss, probabilities):
        """Loss of each example and its gradient in the inputs, 0 where that is not finite.

        Args:
            x: Inputs, shape `(count, ...)`.
            y: Class ids, shape `(count,)`.
            loss: Name in `LOSSES`.
            probabilities: Whether to pass probabilities to the loss in place of logits.

        Returns:
            Values, shape `(count,)`; gradient, of the shape of `x`; number of entries not finite.
        """
        key = (loss, probabilities)
        if key not in self._gradients:
            self._gradients[key] = compiled(functools.partial(self._gradient, *key))
        values, gradient, finite = self._gradients[key](self._padded(x), self._padded(y))
        count = len(x)
        return values[:count], gradient[:count], int(np.sum(~np.asarray(finite[:count])))

    def _gradient(self, loss, probabilities, x, y):
        def values_of(x):
            scores = self._scores(x)
            if probabilities:
                scores = ops.softmax(scores, axis=1)
            return LOSSES[loss](y, scores)

        values, gradient = value_and_gradient(values_of, x)
        finite = ops.isfinite(gradient)
        return values, ops.where(finite, gradient, ops.zeros_like(gradient)), finite

    def _padded(self, values):
        values = ops.convert_to_tensor(values)
        rows = values.shape[0]
        size = min(max(self.batch_size, rows), 1 << (rows - 1).bit_length())
        if size == rows:
            return values
        return ops.pad(values, [(0, size - rows)] + [(0, 0)] * (len(values.shape) - 1))
