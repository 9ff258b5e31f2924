"""Division of image data sets by class. Models train on the first classes and test on the rest.

>>> halves = class_disjoint("cars196", 98, "~/data")          # doctest: +SKIP
>>> [len(half) for half in halves.values()]                   # doctest: +SKIP
[8054, 8131]
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds
from tensorflow_datasets.core import constants

_FORMAT = "array_record"


@dataclasses.dataclass(frozen=True, eq=False)
class Classes(Sequence):
    """Records of some classes, in the order of the data source.

    Attributes:
        source: The data source with the records of all classes.
        indices: Indices of the records in the data source.
        labels: Label of each record, (n,) int64.
    """

    source: Sequence[Any]
    indices: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.source[int(self.indices[index])]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        return self.source.__getitems__([int(self.indices[index]) for index in indices])


def class_disjoint(
    name: str,
    n_train: int,
    data_dir: str | os.PathLike | None = None,
    split: str | None = None,
) -> dict:
    """Divides the records of all official splits of a TFDS data set by class.

    Papers measure retrieval of classes that were not used in training in this way. They train on 98
    of the 196 classes of `"cars196"` (8,054 images, and 8,131 for the test), and on 100 of the 200
    classes of `"caltech_birds2011"` (5,864 images, and 5,924 for the test).

    Args:
        name: Name of a data set that TFDS has prepared and that has a feature `label` with classes.
        n_train: Number of classes to train on. Their labels are 0 to `n_train - 1`.
        data_dir: Folder of prepared data sets. Default: the folder of TFDS.
        split: The official splits to use. Default: all splits. If splits overlap, as `small1` and
            `small2` of `"omniglot"` overlap with `train`, give `"train+test"`, because a repeated
            image would retrieve itself.

    Returns:
        A dict with the keys `"train"` and `"test"`. The values are `Classes`, which do not need
        TensorFlow, for a data set prepared as array_record, or `tf.data.Dataset` for a data set
        prepared as tfrecord. Records with the label -1 have no class and are left out.

    Raises:
        ValueError: If the data set is not prepared in the folder or has no class labels, or if
            `n_train` leaves no class for training or for the test.
    """
    folder = pathlib.Path(data_dir or constants.get_default_data_dir()).expanduser()
    builder = tfds.builder(name, data_dir=folder)
    label = dict(builder.info.features.items()).get("label")
    if not isinstance(label, tfds.features.ClassLabel):
        raise ValueError(
            f"{name} has no feature `label` with classes, by which it could be divided."
        )
    is_whole = isinstance(n_train, int | np.integer) and not isinstance(n_train, bool)
    if not is_whole or not 0 < n_train < label.num_classes:
        raise ValueError(
            f"`n_train` must be a whole number from 1 to {label.num_classes - 1}, as {name} has "
            f"{label.num_classes} classes. Received {n_train!r}."
        )
    if not builder.data_path.exists():
        raise ValueError(
            f"{name} is not prepared in {folder}. TFDS's own builder prepares it: "
            f"tfds.builder({name!r}, data_dir={str(folder)!r})"
            f".download_and_prepare(file_format={_FORMAT!r})."
        )
    split = split or "+".join(builder.info.splits)
    sides = {
        "train": lambda label: (label >= 0) & (label < n_train),  # the label -1 means no class
        "test": lambda label: label >= n_train,
    }
    if builder.info.file_format.value != _FORMAT:
        records = builder.as_dataset(split=split)
        return {
            side: records.filter(lambda record, of=of: of(record["label"]))
            for side, of in sides.items()
        }
    source, labels = builder.as_data_source(split=split), _labels(builder, split)
    indices = {side: np.flatnonzero(of(labels)) for side, of in sides.items()}
    return {side: Classes(source, indices, labels[indices]) for side, indices in indices.items()}


def _labels(builder: tfds.core.DatasetBuilder, split: str) -> np.ndarray:
    """Returns the label of each record, without decoding the images."""
    features = builder.info.features.items()
    packed = {key: tfds.decode.SkipDecoding() for key, of in features if _is_image(of)}
    source = builder.as_data_source(split=split, decoders=packed)
    return np.array([record["label"] for record in source], np.int64)


def _is_image(feature: tfds.features.FeatureConnector) -> bool:
    return isinstance(feature, tfds.features.Image)
