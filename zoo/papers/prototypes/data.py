"""Reads and checks the digits on which networks are trained and attacked."""

import dataclasses
import hashlib
import pathlib

import numpy as np

from keras_dml._typing import ArrayLike, Path

FILES = {
    split: tuple(f"{split}-{kind}-ubyte" for kind in ("images-idx3", "labels-idx1"))
    for split in ("train", "t10k")
}


@dataclasses.dataclass(frozen=True, eq=False)
class Digits:
    """Training images and test images of MNIST, or a part of these images.

    Attributes:
        x: Images to train on, shape `(count, 28, 28, 1)`, float32 in [0, 1]. Ink is 1.
        y: Digits of the images, shape `(count,)`.
        x_test: Images to attack, with the same shape, type and range as `x`.
        y_test: Digits of the images to attack.
    """

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    @property
    def digest(self) -> str:
        """Digest of the training digits, which is a part of the settings of a run."""
        return digest(self.x, self.y)

    def first(self, train: int | None, test: int | None) -> "Digits":
        """Returns the first `train` training digits and the first `test` test digits. None keeps
        all digits.
        """
        return Digits(self.x[:train], self.y[:train], self.x_test[:test], self.y_test[:test])


def digest(x: np.ndarray, y: np.ndarray) -> str:
    """Returns the digest of images and their digits."""
    content = hashlib.sha256()
    for part in (x, y.astype("<i8")):
        content.update(np.ascontiguousarray(part).tobytes())
    return content.hexdigest()[:12]


def read(manual_dir: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Reads the images and labels in the training set and in the test set of MNIST.

    Args:
        manual_dir: Folder that contains the four files, or contains a folder `mnist` with the four
            files.

    Raises:
        ValueError: If a file is missing or damaged.
    """
    from tfds_builders.parsers import idx

    manual_dir = pathlib.Path(manual_dir).expanduser()
    folder = manual_dir / "mnist" if (manual_dir / "mnist").is_dir() else manual_dir
    return [
        tuple(idx.read(_existing_file(folder, name)) for name in names) for names in FILES.values()
    ]


def make_digits(train: tuple[ArrayLike, ArrayLike], test: tuple[ArrayLike, ArrayLike]) -> Digits:
    """Checks the arrays of the archive and returns them as `Digits`.

    Args:
        train: Images, uint8 of shape `(count, 28, 28)`, and their digits, shape `(count,)`.
        test: Images and digits of the test set.

    Raises:
        ValueError: If an image does not have 28 x 28 pixels, or if a label is not a digit.
    """
    parts = []
    for images, labels in (train, test):
        images, labels = np.asarray(images), np.asarray(labels)
        if images.shape[1:] != (28, 28) or labels.shape != images.shape[:1]:
            raise ValueError(
                f"Received images of shape {images.shape} and labels of shape {labels.shape}. "
                "Images of shape (count, 28, 28) and labels of shape (count,) are expected. Check "
                "that the files are the files of MNIST."
            )
        if not np.isin(labels, np.arange(10)).all():
            raise ValueError(
                f"Received labels from {int(labels.min())} to {int(labels.max())}. Labels from 0 "
                "to 9 are expected. Check that the files are the files of MNIST."
            )
        parts += [(images[..., None] / np.float32(255)).astype("float32"), labels.astype("int32")]
    return Digits(*parts)


def _existing_file(folder, name):
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    raise ValueError(
        f"The folder {folder} contains neither {name}.gz nor {name}. Put the four files of MNIST "
        "(http://yann.lecun.com/exdb/mnist/) into it, or pass their folder with --manual-dir."
    )
