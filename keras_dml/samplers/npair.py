"""N classes twice: the batch of the Wasserstein loss and of the N-pair loss."""

from keras_dml.samplers.pk import PKSampler


class NPairSampler(PKSampler):
    """Batches of `pairs` distinct classes with two different recordings of each.

    Use it with `losses.WassersteinLoss` and `losses.NPairLoss`, which read a batch of 2N rows as
    N anchors and their positives (Abdelwahab2019, Eq. 13; Sohn2016). Rows `2i` and `2i + 1` are a
    pair, so that cutting a batch into equal parts for replicas splits no pair when the number of
    replicas divides `pairs`.

    `PKSampler` says how batches, epochs and resuming depend on the seed.

    >>> import numpy as np
    >>> x, y = np.zeros((6, 50, 3)), ["ann", "bob", "cid", "ann", "bob", "cid"]
    >>> signal, labels = NPairSampler(x, y, pairs=3)[0]
    >>> signal.shape, labels.shape
    ((6, 50, 3), (6,))

    Args:
        x: Recordings, shape `(recordings, time, channels)`, or a list of arrays
            `(time_i, channels)`. Kept as they are, not copied.
        y: Class of each recording, shape `(recordings,)` or `(recordings, 1)`: integers of any
            size, strings, bytes, or floats that are integers. Batches carry dense ids;
            `class_names[id]` gives the original back.
        pairs: Distinct classes in a batch (N in Abdelwahab2019), at least 2 and at most as many as
            `y` has. More pairs mean more negatives; Abdelwahab2019 does not give its number.
        steps: Batches in an epoch. Default: `ceil(number of classes / pairs)`, in which every
            class appears about once.
        length: Time steps of every batch; each recording is cut to it by a random crop. Default:
            whole recordings, which must have one length.
        sessions: Session (day, trial, device) of each recording, same forms as `y`. A positive
            is then from another session than its anchor where the class has several.
        drop_singles: Whether to leave classes with one recording out, in place of an error;
            `dropped_classes` lists them, and ids count the classes that stay.
        augment: `augment(batch, rng) -> batch` on NumPy arrays `(rows, time, channels)`, rows
            kept in order; `rng` is a `numpy.random.Generator` of this batch alone.
        seed: Non-negative integer.
        **kwargs: `workers`, `use_multiprocessing`, `max_queue_size` of `keras.utils.PyDataset`.

    Raises:
        ValueError, TypeError: At construction, if the recordings or ids are malformed or the
            request is impossible; the message names the recording, the class or the limit.
    """

    _classes_argument = "pairs"

    def __init__(
        self,
        x,
        y,
        pairs=16,
        *,
        steps=None,
        length=None,
        sessions=None,
        drop_singles=False,
        augment=None,
        seed=0,
        **kwargs,
    ):
        super().__init__(
            x,
            y,
            pairs,
            2,
            steps=steps,
            length=length,
            sessions=sessions,
            drop_singles=drop_singles,
            augment=augment,
            seed=seed,
            **kwargs,
        )
        self.pairs = self.classes
