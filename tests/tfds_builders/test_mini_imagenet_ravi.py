"""Tests of `mini_imagenet_ravi`: its pixels, labels, classes of each split, lists and errors."""

import io
import pickle

import numpy as np
import pytest
from PIL import Image

from tests.tfds_builders import media, samples
from tests.tfds_builders.media import WNIDS, picture_file, ravi_name
from tests.tfds_builders.mutations import check_parser
from tests.tfds_builders.records import everything
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError, MissingArchiveError
from tfds_builders.common.find import find
from tfds_builders.mini_imagenet_ravi.classes import CLASSES
from tfds_builders.mini_imagenet_ravi.mini_imagenet_ravi_dataset_builder import read_lists
from tfds_builders.mini_imagenet_ravi.wanted import LISTS as LISTS_WANTED
from tfds_builders.parsers import image, image_cache, ravi

pytestmark = pytest.mark.usefixtures("quiet")
FOLDER = "mini_imagenet_ravi/"
FILES = media.ravi_files()
LISTS = media.ravi_lists()
BIRD = ravi_name("n01532829", 4)
SPLITS = {"train": "train", "validation": "val", "test": "test"}


def prepared(folder, files, name="mini_imagenet_ravi"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def repacked():
    """Returns the lists and the images as two archives, with one folder of images per class."""
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


@pytest.mark.slow
@pytest.mark.parametrize("files", [FILES, repacked()], ids=["folders", "archives"])
def test_a_record_has_the_mean_of_each_area_and_the_class_of_its_list(files, tmp_path):
    builder = prepared(tmp_path, files)
    records = everything(builder)
    assert len(records) == 14
    record = records[BIRD.removesuffix(".jpg")]
    whole = np.asarray(Image.open(io.BytesIO(FILES[f"{FOLDER}images/{BIRD}"])), float)
    means = whole.reshape(84, 2, 84, 2, 3).mean(axis=(1, 3))
    assert record["image"].shape == (84, 84, 3) and record["image"].dtype == np.uint8
    assert np.abs(record["image"] - means).max() <= 1  # Pillow rounds after each axis
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
    assert "images holds 13 of 60,000 images, so it is only a part of mini-ImageNet" in caplog.text


TRAIN = LISTS[f"{FOLDER}train.csv"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        (LISTS, "Found: test.csv, train.csv, val.csv, .*expected images.zip"),
        (
            {n: held for n, held in FILES.items() if ".csv" not in n},
            "expected train.csv. Other",
        ),
        ({n: held for n, held in FILES.items() if "val.csv" not in n}, "expected one val.csv"),
        (LISTS | {f"{FOLDER}images/n01532829_1.JPEG": b""}, "holds no image of train.csv"),
        (FILES | {f"{FOLDER}images/again/{BIRD}": b""}, "twice: .*again"),
        (
            FILES | {f"{FOLDER}val.csv": TRAIN},
            "the class n01532829, expected only classes of the spl",
        ),
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
    message = "16 x 16 pixels and the color mode RGB, expected .* at most 100 pixels"
    with pytest.raises(FormatError, match=message):
        resized(picture_file(side=16))


def test_a_mutated_image_gives_pixels_or_a_format_error():
    def check(pixels):
        assert pixels.shape == (16, 16, 3) and pixels.dtype == np.uint8

    data = picture_file(side=24) + b" 1 2 3\n"
    check_parser(lambda data: resized(data, 16), data, check, count=500)


CACHE = "mini_imagenet_ravi/cache_pkl"


def cache_name(word):
    return f"{FOLDER}mini-imagenet-cache-{word}.pkl"


CACHES = {cache_name(word): media.ravi_cache(wnids) for word, wnids in WNIDS.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        CACHES | LISTS,
        {f"{FOLDER}mini-imagenet.tar.gz": samples.tar(CACHES, "w:gz")},
        {name.replace("-val.", "-validation."): held for name, held in CACHES.items()},
    ],
    ids=["folder", "archive", "validation"],
)
def test_a_record_of_a_pickle_has_its_pixels_and_its_class(files, tmp_path, caplog):
    builder = prepared(tmp_path, files, CACHE)
    names = builder.info.features["label"].int2str
    for split, word in SPLITS.items():
        images = media.ravi_pixels(2 * len(WNIDS[word]))
        records = {r["id"].decode(): r for r in builder.as_data_source(split=split)}
        assert len(records) == len(images)
        for at, wnid in enumerate(WNIDS[word]):
            for number, place in enumerate((at, at + len(WNIDS[word]))):
                record = records[f"{wnid}/{number:03d}"]
                np.testing.assert_array_equal(record["image"], images[place])
                assert names(record["label"]) == wnid
    found = {split: list(WNIDS[word]) for split, word in SPLITS.items()}
    assert builder.info.metadata["classes"] == found
    assert "holds 6 of 38,400 images" in caplog.text


@pytest.mark.slow
def test_a_pickle_that_is_not_there_leaves_its_split_out_with_a_notice(tmp_path, caplog):
    files = {name: held for name, held in CACHES.items() if "val" not in name}
    assert set(prepared(tmp_path, files, CACHE).info.splits) == {"train", "test"}
    assert "holds no pickle of the splits validation, so these" in caplog.text


def test_two_pickles_of_one_split_are_refused_with_both_names(tmp_path):
    files = CACHES | {cache_name("validation"): CACHES[cache_name("val")]}
    with pytest.raises(ArchiveError, match="validation twice: .*-val.pkl and .*-validation.pkl"):
        prepared(tmp_path, files, CACHE)


def pickled(**changed):
    held = {"image_data": media.ravi_pixels(2), "class_dict": {"n01532829": [1, 0]}} | changed
    return pickle.dumps({key: value for key, value in held.items() if value is not None}, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"<html>",
            "byte 0: .* expected a pickle that contains only numbers, text and NumPy arrays",
        ),
        (pickled()[:-9_000], "expected a pickle"),
        (pickle.dumps(print, 2), "the object '__builtin__ print'"),
        (
            pickle.dumps([1], 2),
            "<class 'list'>.* expected a dict with the keys class_dict and image_data",
        ),
        (pickled(more=1), r"the keys \['image_data', 'class_dict', 'more'\]"),
        (pickled(class_dict=None), r"the keys \['image_data'\]"),
        (pickled(image_data=[1]), "key image_data: .*list.*, expected an array"),
        (
            pickled(image_data=np.zeros((2, 84, 84, 3))),
            "key image_data: .* expected an array of type u1",
        ),
        (pickled(image_data=media.ravi_pixels(2)[:, :32]), r"the shape \(2, 32, 84, 3\)"),
        (pickled(image_data=media.ravi_pixels(2)[:0]), r"the shape \(0, 84, 84, 3\)"),
        (pickled(class_dict=[0, 1]), "key class_dict: .* expected a dict from names of n"),
        (pickled(class_dict={"dog": [0, 1]}), "expected a dict from names of n"),
        (pickled(class_dict={"n01532829": [0, 1.0]}), "expected a dict from names of n"),
        (
            pickled(class_dict={"n01532829": [0, 0]}),
            "the classes have 2 indices, expected each index from 0 to 1",
        ),
        (
            pickled(class_dict={"n01532829": [0]}),
            "the classes have 1 indices, expected each index from 0 to 1 once",
        ),
        (
            pickled(class_dict={"n01855672": [0, 1]}),
            "the class n01855672, expected only classes of the sp",
        ),
    ],
)
def test_a_wrong_or_damaged_pickle_is_refused_and_nothing_is_kept(data, message, tmp_path):
    with pytest.raises(FormatError, match=f"cache-train.pkl.*{message}"):
        prepared(tmp_path, CACHES | {cache_name("train"): data}, CACHE)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


def test_without_pickles_they_are_asked_for(tmp_path):
    with pytest.raises(
        MissingArchiveError, match="expected mini-imagenet-cache-train.pkl. .* images"
    ):
        prepared(tmp_path / "a", FILES, CACHE)
    other = {f"{FOLDER}mini-imagenet.zip": samples.zipped({"train.npy": b""})}
    with pytest.raises(MissingArchiveError, match="no mini-imagenet-cache-train.pkl. It holds tra"):
        prepared(tmp_path / "b", other, CACHE)


def test_a_mutated_pickle_gives_a_sound_cache_or_a_format_error():
    def check(cache):
        assert cache.images.dtype == np.uint8 and cache.images.shape[1:] == (4, 4, 3)
        places = sorted(place for held in cache.places.values() for place in held)
        assert places == list(range(len(cache.images)))

    check_parser(
        lambda data: image_cache.parse(io.BytesIO(data), name="a.pkl", side=4),
        media.ravi_cache(WNIDS["train"], side=4),
        check,
    )


def read(data):
    return ravi.parse(io.BytesIO(data), name="train.csv").labels


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: '', expected `filename,label`"),
        (b"filename,label\n", "the file has no images"),
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
    lists = read_lists(find(data_dir, LISTS_WANTED))
    assert {split: len(labels) for split, labels in lists.items()} == {
        "train": 38_400, "validation": 9_600, "test": 12_000
    }  # fmt: skip
    for split, labels in lists.items():
        wnids, counts = np.unique(list(labels.values()), return_counts=True)
        assert tuple(wnids) == CLASSES[split] and set(counts) == {600}
