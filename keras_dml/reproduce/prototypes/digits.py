"""The digits that networks are trained on and attacked on."""

import dataclasses
import hashlib

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Digits:
    """MNIST, or a part of it.

    Attributes:
        x: Images to train on, shape `(count, 28, 28, 1)`, float32 in [0, 1], ink 1.
        y: Digits of the images, shape `(count,)`.
        x_test: Images to attack, shape as that of `x`.
        y_test: Digits of the images to attack.
    """

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    @property
    def digest(self):
        """Digest of the digits to train on, for the settings of runs."""
        return digest(self.x, self.y)

    def first(self, train, test):
        """The first ones of each part; None: all of them."""
        return Digits(self.x[:train], self.y[:train], self.x_test[:test], self.y_test[:test])


def digest(x, y):
    """Digest of images and their digits."""
    whole = hashlib.sha256()
    for part in (x, y.astype("<i8")):
        whole.update(np.ascontiguousarray(part).tobytes())
    return whole.hexdigest()[:12]


def digits_of(train, test):
    """Digits from the arrays of the archive.

    Args:
        train: Images, uint8 of shape `(count, 28, 28)`, and their digits, shape `(count,)`.
        test: The same of the test set.

    Raises:
        ValueError: If an image has another size, or a label is not a digit.
    """
    parts = []
    for images, labels in (train, test):
        images, labels = np.asarray(images), np.asarray(labels)
        if images.shape[1:] != (28, 28) or labels.shape != images.shape[:1]:
            raise ValueError(
                "Digits are images of shape (count, 28, 28) with labels of shape (count,). "
                f"Received shapes {images.shape} and {labels.shape}: is this MNIST?"
            )
        if not np.isin(labels, np.arange(10)).all():
            raise ValueError(
                f"Labels are the digits 0 to 9. Received {int(labels.min())} to "
                f"{int(labels.max())}: are these MNIST's labels?"
            )
        parts += [(images[..., None] / np.float32(255)).astype("float32"), labels.astype("int32")]
    return Digits(*parts)
