"""Tests that recipes read images from the data folder or from TensorFlow Datasets."""

import gzip
import io
import struct

import numpy as np
import pytest
import tensorflow_datasets as tfds
from PIL import Image

from tests.tfds_builders.media import picture_file
from tests.tfds_builders.samples import tar, write, zipped
from tfds_builders.common.errors import ArchiveError, FormatError
from zoo import images


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Creates an empty data folder and an empty cache."""
    monkeypatch.setenv("KERAS_DML_DATA", str(tmp_path))
    monkeypatch.setattr(images, "CACHE", tmp_path / "cache")
    return tmp_path


def idx_file(values):
    """Builds the bytes of an IDX file with unsigned bytes."""
    values = np.asarray(values, np.uint8)
    return (
        struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()
    )


def drawing_file(number):
    """Builds a drawing in the format of Omniglot (one bit per pixel), with `number` black lines."""
    paper = np.ones((105, 105), bool)
    paper[: 15 * number, 30:45] = False
    out = io.BytesIO()
    Image.fromarray(paper).save(out, "PNG")
    return out.getvalue()


def omniglot_files(root="images_background"):
    return {
        f"{root}/{alphabet}/character{character:02d}/{number:04d}_{drawer:02d}.png": drawing_file(
            number + drawer
        )
        for alphabet, character, number in (
            ("Tagalog", 1, 3),
            ("Balinese", 1, 1),
            ("Balinese", 2, 2),
        )
        for drawer in (2, 1)
    }


@pytest.mark.parametrize("packed", [False, True])
def test_digits_are_read_from_their_official_files(packed, folder):
    digits = np.arange(3 * 28 * 28).reshape(3, 28, 28) % 256
    files = {
        "t10k-images-idx3-ubyte": idx_file(digits),
        "t10k-labels-idx1-ubyte": idx_file([7, 2, 1]),
    }
    if packed:
        files = {f"{name}.gz": gzip.compress(content) for name, content in files.items()}
    write(folder / "mnist", files)
    x, y = images.mnist("test")
    assert x.shape == (3, 28, 28, 1) and x.dtype == np.float32 and y.dtype == np.int32
    np.testing.assert_allclose(x[..., 0], digits / 255, rtol=1e-6)
    assert y.tolist() == [7, 2, 1]
    with pytest.raises(ArchiveError, match="no train-images-idx3-ubyte or .*gz. It holds t10k"):
        images.mnist("train")


def test_photographs_are_read_from_folders_of_classes(folder):
    names = ("train/cat/0001.jpg", "train/airplane/0000.jpg", "test/frog/0000.png")
    files = {name: picture_file(seed, side=32, kind=name[-3:]) for seed, name in enumerate(names)}
    write(folder / "cifar10", {"CIFAR-10-images_subset.tar.xz": tar(files)})
    x, y = images.cifar10("train")
    assert x.shape == (2, 32, 32, 3) and y.tolist() == [0, 3]
    expected = np.asarray(Image.open(io.BytesIO(files["train/airplane/0000.jpg"])))
    np.testing.assert_allclose(x[0], expected / 255, rtol=1e-6)
    assert images.cifar10("test")[1].tolist() == [6]


def test_photographs_are_read_from_the_official_batches(folder):
    rows = np.random.default_rng(0).integers(0, 256, (4, 3073), dtype=np.uint8)
    rows[:, 0] = [9, 0, 3, 5]
    root = "cifar-10-batches-bin"
    files = {f"{root}/data_batch_{k + 1}.bin": rows[2 * k : 2 * k + 2].tobytes() for k in range(2)}
    write(folder / "cifar10", {"cifar-10-binary.tar.gz": tar(files, "w:gz")})
    x, y = images.cifar10("train")
    assert y.tolist() == [9, 0, 3, 5]
    assert x[1, 4, 5, 2] == np.float32(rows[1, 1 + 2 * 1024 + 4 * 32 + 5] / 255)


def test_drawings_are_ink_on_nothing_in_the_order_of_characters(folder):
    write(folder / "omniglot", {"images_background.zip": zipped(omniglot_files())})
    whole, small = images.omniglot("train", size=105), images.omniglot("train")
    assert whole.images.shape == (6, 105, 105, 1) and small.images.shape == (6, 28, 28, 1)
    assert whole.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert whole.drawers.tolist() == [1, 2] * 3
    assert whole.alphabets.tolist() == ["Balinese"] * 4 + ["Tagalog"] * 2
    ink = np.zeros((105, 105, 1))
    ink[:30, 30:45] = 1
    np.testing.assert_array_equal(whole.images[0], ink)
    for at in range(6):  # averaging over areas keeps the fraction of ink
        assert small.images[at].mean() == pytest.approx(whole.images[at].mean(), abs=2e-3)


def test_the_two_sets_of_characters_have_their_own_archives_packed_or_not(folder):
    write(folder / "omniglot", omniglot_files("images_evaluation"))
    assert len(images.omniglot("test", size=14).labels) == 6
    with pytest.raises(ArchiveError, match="images_background.zip"):
        images.omniglot("train")


def test_what_was_read_once_is_kept_until_the_archive_changes(folder, monkeypatch):
    write(folder / "omniglot", {"images_background.zip": zipped(omniglot_files())})
    first = images.omniglot("train")
    parse = images.image.parse
    monkeypatch.setattr(images.image, "parse", None)
    again = images.omniglot("train")
    np.testing.assert_array_equal(again.images, first.images)
    np.testing.assert_array_equal(again.alphabets, first.alphabets)
    monkeypatch.setattr(images.image, "parse", parse)
    fewer = dict([*omniglot_files().items()][:4])
    write(folder / "omniglot", {"images_background.zip": zipped(fewer)})
    assert len(images.omniglot("train").labels) == 4
    assert not [path for path in (folder / "cache").iterdir() if path.suffix != ".npz"]


@pytest.mark.parametrize(
    ("files", "read", "message"),
    [
        ({"mnist/a": b""}, images.mnist, "holds no train-images-idx3-ubyte"),
        ({"cifar10/a": b""}, images.cifar10, "expected cifar-10-binary.tar.gz"),
        ({"cifar10/cifar-10-batches-bin/a": b""}, images.cifar10, "holds 0 images train/"),
        (
            {"cifar10/CIFAR-10-images/train/cow/1.jpg": b""},
            images.cifar10,
            "Unknown classes: cow",
        ),
        (
            {"cifar10/cifar-10-batches-bin/data_batch_1.bin": bytes(3072)},
            images.cifar10,
            "batches of 3072 bytes, which is not a multiple",
        ),
        (
            {"cifar10/CIFAR-10-images/train/cat/1.jpg": picture_file(side=28)},
            images.cifar10,
            "28 x 28 pixels and the color mode RGB, expected a JPEG or PNG image of 32 x 32",
        ),
        ({"omniglot/images_background/a": b""}, images.omniglot, "holds no <alphabet>/character"),
        (
            {"omniglot/images_background/A/character01/0001_01.png": b"<html>"},
            images.omniglot,
            "expected a JPEG or PNG image of 105 x 105",
        ),
    ],
)
def test_a_folder_without_the_set_is_told_and_nothing_is_downloaded(files, read, message, folder):
    write(folder, files)
    with pytest.raises((ArchiveError, FormatError), match=message):
        read("train")


@pytest.mark.parametrize("read", [images.mnist, images.cifar10, images.omniglot])
def test_another_split_is_refused(read):
    with pytest.raises(ValueError, match=r"split='valid'.*\('train', 'test'\)"):
        read("valid")


@pytest.mark.parametrize("size", [0, 106])
def test_another_size_of_drawings_is_refused(size):
    with pytest.raises(ValueError, match=f"size={size}. .*from 1 to 105"):
        images.omniglot("test", size=size)


def test_without_the_folder_images_come_from_tensorflow_datasets():
    with tfds.testing.mock_data(num_examples=3):
        for read, shape in ((images.mnist, (28, 28, 1)), (images.cifar10, (32, 32, 3))):
            x, y = read("test")
            assert x.shape == (3, *shape) and x.dtype == np.float32 and 0 <= x.min() <= x.max() <= 1
            assert y.shape == (3,) and y.dtype == np.int32
        drawings = images.omniglot("test", size=20)
    assert drawings.images.shape == (3, 20, 20, 1)
    assert drawings.drawers.tolist() == [-1] * 3 and len(drawings.alphabets) == 3
    assert (np.diff(drawings.labels) >= 0).all()


@pytest.mark.slow
def test_the_real_drawings_have_alphabets_that_are_never_trained_on(data_dir, monkeypatch):
    monkeypatch.setenv("KERAS_DML_DATA", str(data_dir))
    train, test = images.omniglot("train"), images.omniglot("test")
    assert train.images.shape == (19_280, 28, 28, 1) and test.images.shape == (13_180, 28, 28, 1)
    assert np.array_equal(np.bincount(train.labels), [20] * 964)
    assert np.array_equal(np.unique(test.labels), np.arange(964, 1623))
    assert not set(train.alphabets) & set(test.alphabets)
    assert len(set(train.alphabets)) == 30 and len(set(test.alphabets)) == 20
    assert 0.05 < train.images.mean() < 0.1  # ink is 1 and background is 0


@pytest.mark.slow
def test_the_real_digits_and_photographs_are_read(data_dir, monkeypatch):
    monkeypatch.setenv("KERAS_DML_DATA", str(data_dir))
    x, y = images.mnist("test")
    assert np.bincount(y).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert x.mean() == pytest.approx(0.1325, abs=1e-4)
    x, y = images.cifar10("test")
    assert np.bincount(y).tolist() == [200] * 10 and x.shape == (2_000, 32, 32, 3)
