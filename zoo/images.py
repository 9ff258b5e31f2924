"""Reads MNIST, CIFAR-10 and Omniglot as arrays. If the folder of the recordings contains the files,
the files are read from this folder. If not, TensorFlow Datasets downloads them.

```
<folder>/                                        named by zoo/recordings.py
├── mnist/{train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz]
├── cifar10/cifar-10-binary.tar.gz               or CIFAR-10-images_subset.tar.xz:
│                                                train|test/<class>/NNNN.jpg, lossy
└── omniglot/images_{background,evaluation}.zip  or unpacked
```
"""

import dataclasses
import functools
import pathlib
import re

import numpy as np
from PIL import Image

from keras_dml._files import staged
from tfds_builders.common.archive import Source
from tfds_builders.common.checks import fingerprint
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted, find
from tfds_builders.common.limits import Limits
from tfds_builders.parsers import idx, image
from zoo import recordings

CACHE = pathlib.Path(__file__).resolve().parent.parent / "build" / "images"
CIFAR10_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
SPLITS = ("train", "test")
_MNIST = {"train": "train", "test": "t10k"}
_OMNIGLOT = {"train": "images_background", "test": "images_evaluation"}
_DRAWING = r"(?:.*/)?([^/]+)/character\d+/(\d{4})_(\d{2})\.png"
_OFFICIAL_SIZE = 105  # pixels per side of a drawing
_PHOTO = r"(?:.*/)?(train|test)/([a-z]+)/\d+\.(?:jpg|png)"
_BATCH = {"train": r"(?:.*/)?data_batch_\d\.bin", "test": r"(?:.*/)?test_batch\.bin"}
_LIMITS = Limits(members=100_000, member_bytes=64 << 20, total_bytes=1 << 30)
_GET = "Remove that folder to download the set by TensorFlow Datasets instead."
CIFAR10 = Wanted(
    dataset="cifar10",
    stems=("cifar-10-binary", "cifar-10-batches-bin", "CIFAR-10-images", "CIFAR-10-images_subset"),
    official="cifar-10-binary.tar.gz",
    get=_GET,
    limits=_LIMITS,
)
OMNIGLOT = {
    split: Wanted("omniglot", (stem,), f"{stem}.zip", _GET, limits=_LIMITS)
    for split, stem in _OMNIGLOT.items()
}


@dataclasses.dataclass(frozen=True)
class Drawings:
    """Drawings of characters from Omniglot (Lake2015), sorted by character and by the person who
    drew them.

    Attributes:
        images: Shape `(drawings, size, size, 1)`, float32. Ink is 1, and paper is 0.
        labels: Shape `(drawings,)`, int32, the official number of the character minus 1. The labels
            are 0 to 963 in the background set and 964 to 1622 in the evaluation set.
        alphabets: Shape `(drawings,)`, names. The two sets have different alphabets.
        drawers: Shape `(drawings,)`, int32, the numbers 1 to 20 of the people who drew. The number
            is -1 if TensorFlow Datasets was the source, because this source does not name the
            people.
    """

    images: np.ndarray
    labels: np.ndarray
    alphabets: np.ndarray
    drawers: np.ndarray


def mnist(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Reads handwritten digits.

    Args:
        split: `"train"` (60,000) or `"test"` (10,000).

    Returns:
        Images, shape `(n, 28, 28, 1)`, float32 in [0, 1], where ink is 1, and labels, shape `(n,)`,
        int32.

    Raises:
        ValueError: If `split` is neither `"train"` nor `"test"`.
        ArchiveError: If the folder of the recordings has a subfolder `mnist/` that does not contain
            the files of the split.
    """
    folder = _folder("mnist", split)
    if folder is None:
        return _from_tfds("mnist", split)
    images = idx.read(_existing_file(folder, f"{_MNIST[split]}-images-idx3-ubyte"))
    labels = idx.read(_existing_file(folder, f"{_MNIST[split]}-labels-idx1-ubyte"))
    if images.shape[1:] != (28, 28) or labels.shape != images.shape[:1]:
        raise ArchiveError(
            f"{folder} has images of shape {images.shape} and labels of shape {labels.shape}. "
            f"The shapes (n, 28, 28) and (n,) are expected. {_GET}"
        )
    return _unit(images[..., None]), labels.astype(np.int32)


def cifar10(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Reads CIFAR-10 (Krizhevsky2009), small photographs of the ten classes `CIFAR10_CLASSES`.

    Args:
        split: `"train"` (50,000 images) or `"test"` (10,000 images). There are fewer images if the
            folder contains only a part of
        the data set.

    Returns:
        Images, shape `(n, 32, 32, 3)`, float32 in [0, 1], and labels, shape `(n,)`, int32.

    Raises:
        ValueError: If `split` is neither `"train"` nor `"test"`.
        ArchiveError: If the folder of the recordings has a subfolder `cifar10/` that does not
            contain the data set.
        FormatError: If an image in the folder is damaged.
    """
    folder = _folder("cifar10", split)
    if folder is None:
        return _from_tfds("cifar10", split)
    source = find(folder.parent, CIFAR10)
    read = functools.partial(_cifar10, source, split)
    images, labels = _cached(f"cifar10_{split}", source, read, ("images", "labels"))
    return _unit(images), labels


def omniglot(split: str, size: int = 28) -> Drawings:
    """Reads handwritten characters of 50 alphabets. Each of 20 people drew each character once.

    Args:
        split: `"train"`, the background set with 964 characters of 30 alphabets, or `"test"`, the
            evaluation set with 659 characters of 20 other alphabets, for tests only.
        size: Pixels per side. Sizes below the official 105 pixels are computed by averaging areas
            of pixels.

    Raises:
        ValueError: If `split` is neither `"train"` nor `"test"`, or if `size` is not from 1 to 105.
        ArchiveError: If the folder of the recordings has a subfolder `omniglot/` that does not
            contain the split.
        FormatError: If a drawing in the folder is damaged.
    """
    if not 1 <= size <= _OFFICIAL_SIZE:
        raise ValueError(
            f"Received size={size!r}. `size` must be from 1 to {_OFFICIAL_SIZE} pixels."
        )
    folder = _folder("omniglot", split)
    if folder is None:
        columns = _omniglot_from_tfds(split, size)
    else:
        source = find(folder.parent, OMNIGLOT[split])
        fields = [field.name for field in dataclasses.fields(Drawings)]
        read = functools.partial(_omniglot, source, size)
        columns = _cached(f"omniglot_{split}_{size}", source, read, fields)
    return Drawings(_unit(columns[0]), *columns[1:])


def _folder(name, split):
    if split not in SPLITS:
        raise ValueError(f"Received split={split!r}. `split` must be one of {SPLITS}.")
    root = recordings.data_dir()
    return root / name if root is not None and (root / name).is_dir() else None


def _unit(images):
    return np.divide(images, 255, dtype=np.float32)


def _existing_file(folder, stem):
    for path in (folder / f"{stem}.gz", folder / stem):
        if path.is_file():
            return path
    names = ", ".join(sorted(child.name for child in folder.iterdir())) or "nothing"
    raise ArchiveError(f"{folder} holds no {stem} or {stem}.gz. It holds {names}. {_GET}")


def _cached(name, source, read, fields):
    """Returns the columns that `read` returns. The columns are cached in one `.npz` file per
    archive.
    """
    path = CACHE / f"{name}_{fingerprint(source)[:12]}.npz"
    if not path.exists():
        columns = dict(zip(fields, read(), strict=True))
        path.parent.mkdir(parents=True, exist_ok=True)
        with staged(path) as candidate:
            np.savez(candidate, **columns)
    source.close()
    with path.open("rb") as file, np.load(file, allow_pickle=False) as columns:
        return tuple(columns[field] for field in fields)


def _cifar10(source: Source, split):
    """Reads images and labels from an archive that contains pictures or the official batches."""
    batches = [name for name in source.names if re.fullmatch(_BATCH[split], name)]
    if batches:
        return _cifar10_batches(source, batches)
    photos = [(name, re.fullmatch(_PHOTO, name)) for name in source.names]
    photos = [(name, match[2]) for name, match in photos if match and match[1] == split]
    unknown = {kind for _, kind in photos} - set(CIFAR10_CLASSES)
    if not photos or unknown:
        raise ArchiveError(
            f"{source.title} holds {len(photos)} images {split}/<class>/NNNN.jpg. Unknown classes: "
            f"{', '.join(sorted(unknown)) or 'none'}. The images of CIFAR-10 are expected. {_GET}"
        )
    images = [image.parse(source.open(name), name=name, side=32).pixels for name, _ in photos]
    labels = [CIFAR10_CLASSES.index(kind) for _, kind in photos]
    return np.stack(images), np.array(labels, np.int32)


def _cifar10_batches(source, names):
    data = b"".join(source.read(name) for name in names)
    if len(data) % 3073:
        raise ArchiveError(
            f"{source.title} holds batches of {len(data)} bytes, which is not a multiple of 3,073. "
            f"{_GET}"
        )
    rows = np.frombuffer(data, np.uint8).reshape(-1, 3073)
    images = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return images, rows[:, 0].astype(np.int32)


def _omniglot(source: Source, size):
    """Reads the columns of `Drawings`. The images are unsigned bytes."""
    matches = [(re.fullmatch(_DRAWING, name), name) for name in source.names]
    drawings = sorted((int(m[2]), int(m[3]), m[1], name) for m, name in matches if m)
    if not drawings:
        raise ArchiveError(
            f"{source.title} holds no <alphabet>/characterNN/NNNN_NN.png. It holds "
            f"{', '.join(source.names[:5]) or 'nothing'}. {_GET}"
        )
    numbers, drawers, alphabets, names = zip(*drawings, strict=True)
    images = [
        _shrunk(image.parse(source.open(name), name=name, side=_OFFICIAL_SIZE).pixels, size)
        for name in names
    ]
    return (
        np.stack(images)[..., None],
        np.array(numbers, np.int32) - 1,
        np.array(alphabets),
        np.array(drawers, np.int32),
    )


def _shrunk(drawing, size):
    """Shrinks a drawing, which is black on white, to `size` pixels per side. The result is uint8,
    and large values are ink.
    """
    gray = Image.fromarray(drawing[..., 0])
    return 255 - np.asarray(gray.resize((size, size), Image.Resampling.BOX))


def _from_tfds(name, split):
    import tensorflow_datasets as tfds

    batches = list(tfds.as_numpy(tfds.load(name, split=split, batch_size=1_000)))
    images = np.concatenate([batch["image"] for batch in batches])
    return _unit(images), np.concatenate([batch["label"] for batch in batches]).astype(np.int32)


def _omniglot_from_tfds(split, size):
    import tensorflow_datasets as tfds

    records, info = tfds.load("omniglot", split=split, with_info=True)
    rows = sorted(
        (
            (int(row["label"]), int(row["alphabet"]), _shrunk(row["image"], size))
            for row in tfds.as_numpy(records)
        ),
        key=lambda row: row[:2],
    )
    labels, alphabets, images = zip(*rows, strict=True)
    names = [info.features["alphabet"].int2str(alphabet) for alphabet in alphabets]
    return (
        np.stack(images)[..., None],
        np.array(labels, np.int32),
        np.array(names),
        np.full(len(labels), -1, np.int32),
    )
