"""The builder of mini-ImageNet: pixels and labels, classes of each split, lists, wrong files."""

import io

import numpy as np
import pytest
from PIL import Image

from tests.tfds_builders import media, samples
from tests.tfds_builders.media import WNIDS, picture_file, ravi_name
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.common.find import find
from tfds_builders.mini_imagenet_ravi.classes import CLASSES
from tfds_builders.mini_imagenet_ravi.mini_imagenet_ravi_dataset_builder import WANTED, read_lists
from tfds_builders.parsers import image, ravi

pytestmark = pytest.mark.usefixtures("quiet")
FOLDER = "mini_imagenet_ravi/"
FILES = media.ravi_files()
LISTS = media.ravi_lists()
BIRD = ravi_name("n01532829", 4)
SPLITS = {"train": "train", "validation": "val", "test": "test"}


def prepared(folder, files, name="mini_imagenet_ravi"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def repacked():
    """Lists and images as two archives, the images in a folder a class."""
    images = {
        f"train/{name.rsplit('/', 1)[-1][:9]}/{name.rsplit('/', 1)[-1]}": held
        for name, held in FILES.items()
        if "images/" in name
    }
    lists = {f"ravi/{name.removeprefix(FOLDER)}": held for name, held in LISTS.items()}
    other = {"vinyals/train.csv": b"filename,class\n"}
    return {
        f"{FOLDER}images.zip": samples.zipped(images),
        "mini_imagenet_splits/mini_imagenet_splits.tar.xz": samples.tar(lists | other),
    }


@pytest.mark.parametrize("files", [FILES, repacked()], ids=["folders", "archives"])
def test_a_record_has_the_mean_of_each_area_and_the_class_of_its_list(files, tmp_path):
    builder = prepared(tmp_path, files)
    records = everything(builder)
    assert len(records) == 14
    record = records[BIRD.removesuffix(".jpg")]
    whole = np.asarray(Image.open(io.BytesIO(FILES[f"{FOLDER}images/{BIRD}"])), float)
    means = whole.reshape(84, 2, 84, 2, 3).mean(axis=(1, 3))
    assert record["image"].shape == (84, 84, 3) and record["image"].dtype == np.uint8
    assert np.abs(record["image"] - means).max() <= 1  # rounded for each axis
    assert builder.info.features["label"].int2str(record["label"]) == "n01532829"
    assert builder.info.supervised_keys == ("image", "label")


def test_the_classes_of_a_split_are_those_of_its_list_and_of_no_other(tmp_path):
    builder = prepared(tmp_path, FILES)
    names = builder.info.features["label"].int2str
    found = {
        split: {names(record["label"]) for record in source}
        for split, source in builder.as_data_source().items()
    }
    assert found == {split: set(WNIDS[name]) for split, name in SPLITS.items()}
    assert builder.info.metadata["classes"] == {split: sorted(ids) for split, ids in found.items()}


def test_the_hundred_classes_are_disjoint():
    assert {split: len(ids) for split, ids in CLASSES.items()} == {
        "train": 64, "validation": 16, "test": 20
    }  # fmt: skip
    assert len({wnid for ids in CLASSES.values() for wnid in ids}) == 100


def test_images_that_are_not_there_are_told(tmp_path, caplog):
    files = dict(FILES)
    del files[f"{FOLDER}images/{BIRD}"]
    builder = prepared(tmp_path, files)
    assert builder.info.splits["train"].num_examples == 5
    assert "images holds 13 of 60000 images: a part of mini-ImageNet" in caplog.text


TRAIN = LISTS[f"{FOLDER}train.csv"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        (LISTS, "no images.zip, nor .* Found: test.csv, train.csv, val.csv"),
        ({n: held for n, held in FILES.items() if ".csv" not in n}, "no train.csv, nor mini_imag"),
        ({n: held for n, held in FILES.items() if "val.csv" not in n}, "expected one val.csv"),
        (LISTS | {f"{FOLDER}images/n01532829_1.JPEG": b""}, "holds no image of train.csv"),
        (FILES | {f"{FOLDER}images/again/{BIRD}": b""}, "twice: .*again"),
        (FILES | {f"{FOLDER}val.csv": TRAIN}, "the class n01532829, expected those of the split"),
        (FILES | {f"{FOLDER}train.csv": b"filename,class\n"}, "line 1: 'filename,class', expected"),
        (FILES | {f"{FOLDER}images/{BIRD}": b"<html>"}, f"{BIRD}: .* expected a JPEG or PNG"),
        (FILES | {f"{FOLDER}images/{BIRD}": FILES[f"{FOLDER}images/{BIRD}"][:700]}, "truncated"),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


def resized(data, side=84):
    return image.resized(io.BytesIO(data), name="a.jpg", side=side)


def test_an_image_of_the_wanted_size_keeps_its_pixels():
    data = picture_file(3, side=84, kind="png")
    np.testing.assert_array_equal(resized(data), np.asarray(Image.open(io.BytesIO(data))))


@pytest.mark.parametrize("mode", ["L", "CMYK"])
def test_gray_and_printers_colors_become_rgb(mode):
    out = io.BytesIO()
    Image.new(mode, (200, 100)).save(out, "JPEG")
    assert resized(out.getvalue()).shape == (84, 84, 3)


def test_an_image_of_too_many_pixels_is_refused(monkeypatch):
    monkeypatch.setattr(image, "MOST_PIXELS", 100)
    with pytest.raises(FormatError, match="16 x 16 pixels, RGB, expected .* at most 100 pixels"):
        resized(picture_file(side=16))


def test_a_mutated_image_gives_pixels_or_a_format_error():
    def check(pixels):
        assert pixels.shape == (16, 16, 3) and pixels.dtype == np.uint8

    data = picture_file(side=24) + b" 1 2 3\n"
    check_parser(lambda data: resized(data, 16), data, check, count=500)


def read(data):
    return ravi.parse(io.BytesIO(data), name="train.csv").labels


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: '', expected `filename,label`"),
        (b"filename,label\n", "no lines"),
        (TRAIN[:-4], "line 7: .*, expected `<class><8 digits>.jpg,<class>`"),
        (TRAIN.replace(b",n01532829", b",n01558993"), "line 2"),
        (TRAIN + TRAIN.split(b"\n")[1], "line 8: .* each image once"),
    ],
)
def test_a_damaged_list_is_refused_by_line(data, message):
    with pytest.raises(FormatError, match=f"train.csv.*{message}"):
        read(data)


def test_a_mutated_list_gives_labels_or_a_format_error():
    def check(labels):
        assert labels and all(file.startswith(wnid) for file, wnid in labels.items())

    check_parser(read, TRAIN, check)


def test_the_real_lists_have_600_images_a_class(data_dir):
    lists = read_lists(find(data_dir, WANTED["lists"]))
    assert {split: len(labels) for split, labels in lists.items()} == {
        "train": 38_400, "validation": 9_600, "test": 12_000
    }  # fmt: skip
    for split, labels in lists.items():
        wnids, counts = np.unique(list(labels.values()), return_counts=True)
        assert tuple(wnids) == CLASSES[split] and set(counts) == {600}
