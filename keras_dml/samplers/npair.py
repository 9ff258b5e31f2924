"""Provides a sampler that draws N classes per batch and two recordings per class, for the
Wasserstein loss and the N-pair loss.
"""

from typing import Any

from keras_dml._typing import ArrayLike, Recordings
from keras_dml.samplers.pk import PKSampler


class NPairSampler(PKSampler):
    """Sampler that draws `pairs` distinct classes per batch, and two different recordings of each
    class.

    Use this sampler with `losses.WassersteinLoss` and `losses.NPairLoss`. For these losses, a batch
    has 2N rows: N anchors and one positive for each anchor (Abdelwahab2019, Eq. 13; Sohn2016). Rows
    `2i` and `2i + 1` are a pair. If `pairs` is a multiple of the number of replicas, both rows of a
    pair are therefore on the same replica.

    By default, an epoch has `ceil(number of classes / pairs)` batches. See `PKSampler` for seeds,
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
        x: Recordings, shape `(recordings, time, channels)`, or a list of arrays
            `(time_i, channels)`.
        y: Class of each recording, shape `(recordings,)` or `(recordings, 1)`. Classes are integers
            of any size, strings, bytes, or floats with integer values.
        pairs: Number of distinct classes in a batch, at least 2 and at most the number of classes
            in `y`. `pairs` is N in Abdelwahab2019, which does not report a value of N. With more
            pairs, each anchor has more negatives.
        **kwargs: Arguments of `PKSampler`: `steps_per_epoch`, `length`, `sessions`, `drop_singles`,
            `augment`, `seed`, and arguments of `keras.utils.PyDataset`. If `sessions` are given and
            a class has several sessions, a positive and its anchor come from different sessions.

    Raises:
        ValueError, TypeError: If recordings or ids are invalid, or if there are too few classes or
            recordings. The error message contains the recording, the class or the limit.
    """

    _classes_argument = "pairs"

    def __init__(
        self, x: ArrayLike | Recordings, y: ArrayLike, pairs: int = 16, **kwargs: Any
    ) -> None:
        super().__init__(x, y, pairs, 2, **kwargs)
        self.pairs: int = self.classes
