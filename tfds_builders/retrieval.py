"""Function that divides image data sets by class, so that models train on the first classes and are
tested on the other classes.

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
    """The records of some classes, in the same order as in the data source.

    Attributes:
        source: Data source with the records of all classes.
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
    """Divides the records of a TFDS data set by class, using all official splits.

    Papers use this division to measure retrieval of classes that are not in the training data. On
    `"cars196"`, papers train on 98 of the 196 classes (8,054 images) and test on the other classes
    (8,131 images). On `"caltech_birds2011"`, papers train on 100 of the 200 classes (5,864 images)
    and test on the other classes (5,924 images).

    Args:
        name: Name of a data set that TFDS has prepared. The data set must have a feature `label`
            with classes.
        n_train: Number of classes for training. The training classes have the labels 0 to
            `n_train - 1`.
        data_dir: Folder of prepared data sets. Default: the folder of TFDS.
        split: The official splits to use, such as `"train+test"`. Default: all splits. Leave out
            splits that overlap with other splits, because an image that occurs twice would retrieve
            itself. For example, `small1` and `small2` of `"omniglot"` overlap with `train`.

    Returns:
        A dict with the keys `"train"` and `"test"`. For a data set prepared as array_record, the
        values are objects of the class `Classes`, which do not need TensorFlow. For a data set
        prepared as tfrecord, the values are objects of the class `tf.data.Dataset`. Records with
        the label -1 have no class and are left out.

    Raises:
        ValueError: If the data set is not prepared in the folder, if it has no class labels, or if
            no class remains for training or for the test.
    """
    folder = pathlib.Path(data_dir or constants.get_default_data_dir()).expanduser()
    builder = tfds.builder(name, data_dir=folder)
    label = dict(builder.info.features.items()).get("label")
    if not isinstance(label, tfds.features.ClassLabel):
        raise ValueError(
            f"{name} has no feature `label` with classes, so it cannot be divided by class."
        )
    is_whole = isinstance(n_train, int | np.integer) and not isinstance(n_train, bool)
    if not is_whole or not 0 < n_train < label.num_classes:
        raise ValueError(
            f"Received `n_train` = {n_train!r}, expected a whole number from 1 to "
            f"{label.num_classes - 1}, because {name} has {label.num_classes} classes."
        )
    if not builder.data_path.exists():
        raise ValueError(
            f"{name} is not prepared in {folder}. Prepare it with the builder of TFDS: "
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
    """Returns the label of each record. The function does not decode images."""
    features = builder.info.features.items()
    packed = {key: tfds.decode.SkipDecoding() for key, of in features if _is_image(of)}
    source = builder.as_data_source(split=split, decoders=packed)
    return np.array([record["label"] for record in source], np.int64)


def _is_image(feature: tfds.features.FeatureConnector) -> bool:
    return isinstance(feature, tfds.features.Image)
