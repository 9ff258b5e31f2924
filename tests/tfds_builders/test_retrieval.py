"""Tests that data sets of TFDS are divided by class as in the papers, in both file formats."""

import io
import tarfile

import numpy as np
import pytest
import tensorflow_datasets as tfds
from PIL import Image
from tensorflow_datasets.core import registered

from tests.tfds_builders import samples
from tests.tfds_builders.test_registration import in_a_new_process
from tfds_builders import reading, retrieval

pytestmark = pytest.mark.usefixtures("quiet")
LISTS = "cub_cars_lists/cub_cars_lists.tar.xz"
BOX = tfds.features.BBox(0.0, 0.0, 1.0, 1.0)


def picture(mode="RGB"):
    out = io.BytesIO()
    Image.new(mode, (1, 1)).save(out, "PNG")
    return out.getvalue()


def prepared(folder, official, labels, record, file_format="array_record"):
    """Prepares a data set of TFDS with its features and the given labels, without a download."""
    base = tfds.builder_cls(official)
    with registered.skip_registration():

        class Made(base):
            name = official

            def _split_generators(self, dl_manager):
                return {split: self._generate_examples(split) for split in labels}

            def _generate_examples(self, split):
                for number, label in enumerate(labels[split]):
                    yield f"{split}{number}", {"label": int(label), "bbox": BOX, **record()}

    Made(data_dir=folder).download_and_prepare(file_format=file_format)
    return folder


def car():
    return {"image": io.BytesIO(picture()), "id": ""}


def bird():
    mask = {"segmentation_mask": io.BytesIO(picture("L"))}
    return {"image": io.BytesIO(picture()), "image/filename": "", "label_name": "", **mask}


def cars(folder, file_format="array_record"):
    labels = {"train": [0, 97, 98, 195], "test": [0, 98, 98]}
    return prepared(folder, "cars196", labels, car, file_format)


@pytest.mark.slow
def test_both_official_splits_are_divided_by_class_without_tensorflow(tmp_path):
    printed = in_a_new_process(
        "import sys\n"
        "from tfds_builders.retrieval import class_disjoint\n"
        "halves = class_disjoint('cars196', 98, sys.argv[1])\n"
        "print({side: sorted(half.labels.tolist()) for side, half in halves.items()})\n"
        "print('tensorflow' in sys.modules)",
        cars(tmp_path),
    )
    assert printed.splitlines() == ["{'train': [0, 0, 97], 'test': [98, 98, 98, 195]}", "False"]


def test_a_half_gives_its_records_by_number_and_by_numbers(tmp_path):
    half = retrieval.class_disjoint("cars196", 98, cars(tmp_path))["test"]
    assert len(half) == 4 and [record["label"] for record in half] == half.labels.tolist()
    assert [record["label"] for record in half.__getitems__([3, 0])] == half.labels[[3, 0]].tolist()
    assert half[-1]["image"].shape == (1, 1, 3)
    with pytest.raises(IndexError):
        half[4]


@pytest.mark.slow
def test_a_set_prepared_as_tfrecord_gives_datasets(tmp_path):
    halves = retrieval.class_disjoint("cars196", 98, cars(tmp_path, "tfrecord"))
    labels = {
        side: sorted(int(record["label"]) for record in tfds.as_numpy(half))
        for side, half in halves.items()
    }
    assert labels == {"train": [0, 0, 97], "test": [98, 98, 98, 195]}


@pytest.mark.parametrize("file_format", reading.FORMATS)
def test_records_without_a_class_are_in_neither_half(file_format, tmp_path):
    """In stl10 (`unlabelled`) and imagenet2012 (`test`), records without a class have label -1."""
    labels = {"train": [0, 97, 98], "test": [-1, 98, -1]}
    halves = retrieval.class_disjoint(
        "cars196", 98, prepared(tmp_path, "cars196", labels, car, file_format)
    )
    found = {side: sorted(int(record["label"]) for record in half) for side, half in halves.items()}
    assert found == {"train": [0, 97], "test": [98, 98]}


@pytest.mark.parametrize("file_format", reading.FORMATS)
def test_splits_that_repeat_others_can_be_left_out(file_format, tmp_path):
    labels = {"train": [0, 97, 98], "test": [98], "small1": [0, 98]}
    folder = prepared(tmp_path, "cars196", labels, car, file_format)
    halves = retrieval.class_disjoint("cars196", 98, folder, split="train+test")
    assert [len([*half]) for half in halves.values()] == [2, 2]
    with pytest.raises(ValueError, match="small2"):
        retrieval.class_disjoint("cars196", 98, folder, split="train+small2")


@pytest.mark.parametrize("n_train", [0, 196, -1, 1.5, True, "2"])
def test_a_side_without_a_class_is_refused(n_train, tmp_path):
    with pytest.raises(ValueError, match=f"Received `n_train` = {n_train!r}, .* from 1 to 195"):
        retrieval.class_disjoint("cars196", n_train, cars(tmp_path))


def test_a_set_without_classes_is_refused(tmp_path):
    manual = samples.write(tmp_path / "manual", samples.gait_files())
    reading.prepared("ipol_gait", manual, tmp_path, "tfrecord")
    with pytest.raises(ValueError, match="ipol_gait has no feature `label`"):
        retrieval.class_disjoint("ipol_gait", 1, tmp_path)


def test_a_set_that_is_not_prepared_is_told_with_the_call_that_prepares_it(tmp_path):
    with pytest.raises(ValueError, match=f"not prepared in {tmp_path}.*download_and_prepare"):
        retrieval.class_disjoint("cars196", 98, tmp_path)


@pytest.mark.slow
def test_the_official_lists_give_the_numbers_of_the_papers(data_dir, tmp_path):
    with tarfile.open(data_dir / LISTS) as archive:

        def column(name):
            lines = archive.extractfile(name).read().decode().split("\n")
            return np.array([int(line.split()[1]) for line in lines if line.strip()])

        models = {split: column(f"Stanford_Cars/{split}.txt") - 1 for split in ("train", "test")}
        species = column("CUB_200_2011/image_class_labels.txt") - 1
        taught = column("CUB_200_2011/train_test_split.txt") == 1
    kinds = {"train": species[taught], "test": species[~taught]}
    prepared(tmp_path, "cars196", models, car)
    prepared(tmp_path, "caltech_birds2011", kinds, bird)
    for name, n_train, sizes in (
        ("cars196", 98, [8_054, 8_131]),
        ("caltech_birds2011", 100, [5_864, 5_924]),
    ):
        halves = retrieval.class_disjoint(name, n_train, tmp_path)
        assert [len(half) for half in halves.values()] == sizes
        assert (
            halves["train"].labels.max() == n_train - 1 and halves["test"].labels.min() == n_train
        )
