"""Sampler of N classes with two recordings of each, for the Wasserstein loss and the N-pair
loss."""

from typing import Any

from keras_dml._typing import ArrayLike, Recordings
from keras_dml.samplers.pk import PKSampler


class NPairSampler(PKSampler):
    """Sampler of batches of `pairs` distinct classes with two different recordings of each.

    Use it with `losses.WassersteinLoss` and `losses.NPairLoss`, which take a batch of 2N rows as N
    anchors and their positives (Abdelwahab2019, Eq. 13; Sohn2016). Rows `2i` and `2i + 1` are a
    pair, so that splitting a batch into equal parts for replicas splits no pair if the number of
    replicas divides `pairs`.

    By default an epoch has `ceil(number of classes / pairs)` batches. See `PKSampler` for seeds,
    epochs and resuming.

    >>> import numpy as np
    >>> x, y = np.zeros((6, 50, 3)), ["ann", "bob", "cid", "ann", "bob", "cid"]
    >>> batches = NPairSampler(x, y, pairs=3, steps_per_epoch=8)
    >>> signal, labels = batches[0]
    >>> signal.shape, labels.shape, len(batches)
    ((6, 50, 3), (6,), 8)
    >>> len(NPairSampler(x, y, pairs=3))  # 3 classes, 3 in a batch
    1

    Args:
        x: Recordings, an array or a list of arrays; see `PKSampler`.
        y: Class of each recording; see `PKSampler`.
        pairs: Distinct classes in a batch (N in Abdelwahab2019), at least 2 and at most as many as
            `y` has. More pairs give more negatives. Abdelwahab2019 does not report N.
        **kwargs: Keyword arguments of `PKSampler`: `steps_per_epoch`, `length`, `sessions`,
            `drop_singles`, `augment`, `seed`, and arguments of `keras.utils.PyDataset`. A positive
            and its anchor come from different sessions if the class has several.

    Raises:
        ValueError, TypeError: At construction, if the recordings or ids are invalid or the request
            is impossible. The message names the recording, the class or the limit.
    """

    _classes_argument = "pairs"

    def __init__(
        self, x: ArrayLike | Recordings, y: ArrayLike, pairs: int = 16, **kwargs: Any
    ) -> None:
        super().__init__(x, y, pairs, 2, **kwargs)
        self.pairs = self.classes
