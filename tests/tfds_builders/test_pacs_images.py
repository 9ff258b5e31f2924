"""Tests of `pacs_images`: the images and labels, the validation split, the lists and errors."""

import io
import struct

import numpy as np
import pytest
import tensorflow_datasets as tfds
from PIL import Image

from tests.tfds_builders import media, samples
from tests.tfds_builders.media import picture_file
from tests.tfds_builders.mutations import check_parser
from tfds_builders import reading
from tfds_builders.common.errors import ArchiveError, FormatError
from tfds_builders.parsers import image, lists

pytestmark = pytest.mark.usefixtures("quiet")
FILES = media.pacs_files(2)
DOMAINS = tuple(media.DOMAINS)
DOG = "photo/dog/pic_000.jpg"


def prepared(folder, files, name="pacs_images"):
    return reading.prepared(name, samples.write(folder / "manual", files), folder / "data")


def names(builder):
    """Returns the names of the files in each split."""
    return {
        split: {record["file"].decode() for record in source}
        for split, source in builder.as_data_source().items()
    }


def listed(files, validates=lambda name: "pic_000" in name):
    """Returns the eight official lists for the files of an archive."""
    texts = {f"PACS/{d}_{word}_kfold.txt": b"" for d in DOMAINS for word in ("train", "crossval")}
    for name in files:
        _, domain, kind, file = name.split("/")
        word = "crossval" if validates(name) else "train"
        line = f"{domain}/{kind}/{file} {media.CLASSES.index(kind) + 1}\n"
        texts[f"PACS/{domain}_{word}_kfold.txt"] += line.encode()
    return texts


def test_a_record_has_the_bytes_of_its_file_and_the_label_of_its_folder(tmp_path):
    builder = prepared(tmp_path, {"PACS.zip": samples.zipped(FILES)}, "pacs_images/photo")
    source = builder.as_data_source(split="test", decoders={"image": tfds.decode.SkipDecoding()})
    record = next(record for record in source if record["file"].decode() == DOG)
    assert record["image"] == FILES[f"PACS/{DOG}"] and record["id"] == record["file"]
    assert builder.info.features["label"].int2str(record["label"]) == "dog"
    assert builder.info.features["domain"].int2str(record["domain"]) == "photo"
    decoded = next(r for r in builder.as_data_source(split="test") if r["file"].decode() == DOG)
    expected = np.asarray(Image.open(io.BytesIO(FILES[f"PACS/{DOG}"])))
    np.testing.assert_array_equal(decoded["image"], expected)
    assert builder.info.supervised_keys == ("image", "label")


@pytest.mark.slow
@pytest.mark.parametrize("held_out", DOMAINS)
def test_the_held_out_domain_is_the_test_split_and_nowhere_else(held_out, tmp_path):
    builder = prepared(tmp_path, FILES, f"pacs_images/{held_out}")
    splits = names(builder)
    assert {name.split("/")[0] for name in splits["test"]} == {held_out}
    assert len(splits["test"]) == 14 and len(splits["train"] | splits["validation"]) == 42
    assert not splits["train"] & splits["validation"]
    assert held_out not in builder.info.metadata["domains"]["train"]


@pytest.mark.slow
def test_a_picture_validates_in_every_config_or_in_none(tmp_path):
    every = [names(prepared(tmp_path, FILES, f"pacs_images/{domain}")) for domain in DOMAINS]
    train = set.union(*(splits["train"] for splits in every))
    validation = set.union(*(splits["validation"] for splits in every))
    assert not train & validation
    kinds = [name.split("/")[1] for name in validation]
    assert sorted(kinds) == sorted(media.CLASSES)  # one image per class


def test_sketches_of_one_photo_and_the_photo_are_on_one_side(tmp_path):
    drawings = {
        f"PACS/sketch/dog/n02103406_{photo}-{drawing}.png": picture_file(
            8000 + 10 * photo + drawing, kind="png"
        )
        for photo in range(6)
        for drawing in range(4)
    }
    photos = {f"PACS/photo/dog/n02103406_{i}.jpg": picture_file(9000 + i) for i in range(6)}
    splits = names(prepared(tmp_path, FILES | drawings | photos, "pacs_images/cartoon"))
    stems = [
        {name.split("n02103406_")[1][0] for name in splits[split] if "n02103406" in name}
        for split in ("train", "validation")
    ]
    assert not stems[0] & stems[1] and stems[0] | stems[1] == set("012345")


def test_the_official_lists_divide_where_they_are_there(tmp_path):
    texts = listed(FILES)
    texts["PACS/sketch_train_kfold.txt"] += b"sketch/dog/n02103406_4068-1.png 1\n"  # has no file
    splits = names(prepared(tmp_path, FILES | texts, "pacs_images/art_painting"))
    assert splits["validation"] == {
        f"{domain}/{kind}/pic_000.{media.DOMAINS[domain]}"
        for domain in ("cartoon", "photo", "sketch")
        for kind in media.CLASSES
    }
    assert "sketch/dog/pic_001.png" in splits["train"]


def test_gray_pictures_are_given_as_three_colors(tmp_path):
    gray = FILES | {f"PACS/{DOG}": picture_file(7, mode="L")}
    source = prepared(tmp_path, gray, "pacs_images/photo").as_data_source(split="test")
    image = next(record["image"] for record in source if record["file"].decode() == DOG)
    assert image.shape == (227, 227, 3) and np.ptp(image, axis=-1).max() == 0


def test_a_part_says_what_it_lacks(tmp_path, caplog):
    prepared(tmp_path, FILES)
    assert "holds 56 of 9,991 images, so it is only a part of PACS" in caplog.text


def test_a_repeat_within_a_class_is_left_out_and_told(tmp_path, caplog):
    files = FILES | {f"PACS/{DOG}".replace("000", "009"): FILES[f"PACS/{DOG}"]}
    splits = names(prepared(tmp_path, files))
    assert sum(map(len, splits.values())) == 56 and DOG in set.union(*splits.values())
    assert "holds 57 of 9,991 images" in caplog.text
    assert (
        f"images: 1 (left out). The first is photo/dog/pic_009.jpg, which is the same as {DOG}"
        in caplog.text
    )


TEXTS = listed(FILES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "does not exist"),
        (
            {"PACS/readme.txt": b""},
            "holds no images .* of the domains art_painting, cartoon, photo, sketch",
        ),
        (
            media.pacs_files(2, domains={"photo": "jpg"}),
            "of the domains art_painting, cartoon, sketch",
        ),
        (FILES | {"PACS/photo/cat/a.jpg": b""}, "photo/cat/a.jpg' is not in a folder"),
        (FILES | {"PACS/clipart/dog/a.jpg": b""}, "clipart/dog/a.jpg' is not in a folder"),
        (FILES | {f"PACS/again/{DOG}": b""}, "the same image twice"),
        (
            media.pacs_files(2) | {f"PACS/{DOG}": picture_file(side=224)},
            "224 x 224 pixels and the color mode RGB",
        ),
        (FILES | {f"PACS/{DOG}": picture_file()[:700]}, "expected a JPEG or PNG image of 227"),
        (
            FILES | {"PACS/sketch/dog/pic_000.jpg": FILES[f"PACS/{DOG}"]},
            r"photo, dog\) and sketch/dog/pic_000.jpg \(sketch, dog\) have the same content",
        ),
        (FILES | {f"PACS/{DOG}": b"GIF89a"}, "pic_000.jpg: .* expected a JPEG or PNG image"),
        (
            FILES | dict([*TEXTS.items()][:-1]),
            "7 of 8 lists. sketch_crossval_kfold.txt does",
        ),
        (
            FILES | TEXTS | {"PACS/new.txt": b"", "PACS/photo/dog/new.jpg": picture_file(7)},
            "1 images are not in the lists. The first is photo/dog/new.jpg",
        ),
        (
            FILES | TEXTS | {"PACS/photo_train_kfold.txt": b"photo/dog/pic_001.jpg 2\n"},
            "'photo/dog/pic_001.jpg' as class 2, expected images of photo",
        ),
        (
            FILES | TEXTS | {"PACS/photo_train_kfold.txt": TEXTS["PACS/photo_crossval_kfold.txt"]},
            "is in two lists",
        ),
    ],
)
def test_a_wrong_or_damaged_file_is_named_and_nothing_is_kept(files, message, tmp_path):
    with pytest.raises((ArchiveError, FormatError), match=message):
        prepared(tmp_path, files)
    assert not list((tmp_path / "data").rglob("*.array_record*"))


def check(found):
    assert found.pixels.shape == (16, 16, 3) and found.pixels.dtype == np.uint8


@pytest.mark.parametrize("kind", ["jpg", "png"])
def test_a_mutated_picture_gives_pixels_or_a_format_error(kind):
    data = picture_file(side=16, kind=kind) + b" 1 2 3\n"
    check_parser(
        lambda data: image.parse(io.BytesIO(data), name="a", side=16), data, check, count=500
    )


def test_a_picture_of_another_size_is_refused_before_it_is_decoded():
    bomb = picture_file(side=16, kind="png")
    at = bomb.index(b"IHDR") + 4
    header = struct.pack(">II", 30_000, 30_000) + bomb[at + 8 :]
    with pytest.raises(FormatError, match="expected a JPEG or PNG image"):
        image.parse(io.BytesIO(bomb[:at] + header), name="a.png", side=16)


def test_a_mutated_list_gives_labels_or_a_format_error():
    data = TEXTS["PACS/photo_train_kfold.txt"]
    check_parser(
        lambda data: lists.parse(io.BytesIO(data), name="l.txt"),
        data,
        lambda listing: all(isinstance(label, int) for label in listing.labels.values()),
    )


@pytest.mark.slow
def test_the_real_pictures_are_prepared(data_dir):
    builder = reading.prepared("pacs_images/sketch", data_dir)
    splits = names(builder)
    assert {split: len(files) for split, files in splits.items()} == {
        "train": 395, "validation": 46, "test": 147
    }  # fmt: skip
    for record in builder.as_data_source(split="test"):
        assert record["image"].shape == (227, 227, 3)
        assert np.ptp(record["image"], axis=-1).max() == 0  # sketches have no color
