"""Attempts to read data sets from damaged archives, invalid texts and damaged IDX files."""

import gzip
import io
import random
import struct
import tarfile

import numpy as np

from tests.hostile import draws
from tests.hostile.checks import Verdict, bounded, check_tree, settle, tree
from tests.tfds_builders import mutations, samples
from tfds_builders import reading
from tfds_builders.common.find import find_config
from tfds_builders.japanese_vowels_lpc import japanese_vowels_lpc_dataset_builder as builder
from tfds_builders.parsers import idx

NAME = "JapaneseVowels"
MAX_BYTES = 96 << 20
FILES = {
    f"{NAME}_{split}.ts": samples.vowel_ts((1, 1, *range(2, 10)), seed=seed)
    for split, seed in (("TRAIN", 0), ("TEST", 1000))
}
DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def _read(folder):
    """Reads the utterances and speakers of the train and test splits from an archive."""
    source = find_config(folder, builder.CONFIGS, "ts")
    try:
        return {
            split: builder.utterances(source, file, split)
            for split, file in builder.FILES["ts"].items()
        }
    finally:
        source.close()


def _by_hand(data):
    """Parses the bytes of a valid file into utterances and speakers, as `_read` returns them."""
    lines = data.decode("utf-8-sig").lower().replace("\r\n", "\n").split("\n")
    rows = [line.strip() for line in lines[[line.strip() for line in lines].index("@data") + 1 :]]
    pairs = [row.rsplit(":", 1) for row in rows if row]
    values = [[[float(x) for x in part.split(",")] for part in row.split(":")] for row, _ in pairs]
    return [np.array(value, np.float32).T for value in values], [
        int(speaker) for _, speaker in pairs
    ]


def _agrees(files):
    def check(parts):
        for split, part in parts.items():
            sequences, speakers = _by_hand(files[f"{NAME}_{split.upper()}.ts"])
            assert [int(utterance.subject) for utterance in part] == speakers, "other speakers"
            for utterance, expected in zip(part, sequences, strict=True):
                assert np.isfinite(utterance.sequence).all(), "not finite"
                np.testing.assert_array_equal(utterance.sequence, expected)

    return check


def _sound(parts):
    for part in parts.values():
        for utterance in part:
            assert np.isfinite(utterance.sequence).all() and utterance.sequence.shape[1] == 12
            assert 1 <= int(utterance.subject) <= 9


def damage(rng, folder):
    """Damages bytes of a zip or tar archive.

    An uncompressed tar archive contains no checksums, so damage may stay undetected.
    """
    kind = draws.draw(rng, ("zip", "w:xz", "w:gz", "w:bz2", "w"))
    whole = samples.zipped(FILES) if kind == "zip" else samples.tar(FILES, kind)
    (folder / f"{NAME}.{'zip' if kind == 'zip' else 'tar'}").write_bytes(draws.damaged(rng, whole))
    check = _sound if kind == "w" else _agrees(FILES)
    return settle(bounded(lambda: _read(folder), MAX_BYTES), check)


def text(rng, folder):
    """Swaps lines, changes numbers or the encoding, or cuts the text in an archive."""
    seed = int(rng.integers(2**31))
    name = draws.draw(rng, list(FILES))
    draw = random.Random(seed)
    files = {**FILES, name: draw.choice(mutations.KINDS)(FILES[name], draw)}
    packed = samples.zipped(files) if rng.random() < 0.5 else samples.tar(files)
    (folder / f"{NAME}.zip").write_bytes(packed)
    return settle(lambda: _read(folder), _agrees(files), names=(name,))


def _tar(rng, info):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=draws.draw(rng, ("w", "w:gz", "w:xz"))) as archive:
        for name, content in FILES.items():
            plain = tarfile.TarInfo(name)
            plain.size = len(content)
            archive.addfile(plain, io.BytesIO(content))
        archive.addfile(info, io.BytesIO(bytes(info.size)))
    return out.getvalue()


def members(rng, folder):
    """Adds invalid members: paths outside the archive, links, devices or duplicate names."""
    kind = rng.integers(5)
    odd = draws.draw(rng, ("../../bystander/inner/notes.txt", "/etc/hostile", "a/../../b", "C:\\b"))
    if kind == 0:
        data = samples.zipped({**FILES, odd: b"mine"})
    elif kind == 1:
        info = tarfile.TarInfo(odd)
        info.size = 4
        data = _tar(rng, info)
    elif kind == 2:
        info = tarfile.TarInfo("a")
        info.type = draws.draw(
            rng, (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
        )
        info.linkname = odd
        data = _tar(rng, info)
    elif kind == 3:
        info = tarfile.TarInfo(draws.draw(rng, list(FILES)).swapcase())
        info.size = 4
        data = _tar(rng, info)
    else:
        data = bytearray(samples.zipped(FILES))
        data[6] |= 1
        data[data.index(b"PK\1\2") + 8] |= 1
    (folder / f"{NAME}.zip").write_bytes(bytes(data))
    before = tree(folder)
    verdict = settle(lambda: _read(folder), refuses=True)
    check_tree(folder, before)
    return verdict


def bomb(rng, folder):
    """Reads an archive of kilobytes that unpacks to more than a hundred megabytes."""
    zeros = bytes(int(rng.integers(100, 150)) << 20)
    name = draws.draw(rng, [*FILES, "more.txt"])
    files = {**FILES, name: zeros}
    mode = draws.draw(rng, ("zip", "w:gz", "w:bz2"))
    data = samples.zipped(files) if mode == "zip" else samples.tar(files, mode)
    del zeros, files
    (folder / f"{NAME}.zip").write_bytes(data)
    return settle(bounded(lambda: _read(folder), MAX_BYTES), refuses=True)


def numbers(rng, folder):
    """Reads a valid or damaged IDX file.

    If the reader raises no error, the array must have the shape that the header states.
    """
    code = draws.draw(rng, list(DTYPES))
    array = rng.integers(0, 100, rng.integers(1, 5, rng.integers(1, 4))).astype(DTYPES[code])
    data = bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    data += array.tobytes()
    is_damaged = rng.random() < 0.8
    if is_damaged:
        data = draws.damaged(rng, data)
    packed = gzip.compress(data, mtime=0) if rng.random() < 0.5 else data
    path = folder / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(draws.damaged(rng, packed) if packed != data and is_damaged else packed)

    def check(found):
        head = 4 + 4 * data[3]
        shape = struct.unpack(f">{data[3]}I", data[4:head])
        expected = np.frombuffer(data[head:], DTYPES[data[2]]).reshape(shape)
        np.testing.assert_array_equal(found, expected)

    call = bounded(lambda: idx.read(path), MAX_BYTES)
    return settle(call, check, names=(path.name,), refuses=None if is_damaged else False)


def prepared(rng, folder):
    """Prepares a data set from a damaged archive. After an error, no new file remains."""
    whole = samples.zipped(FILES)
    data = draws.damaged(rng, whole) if rng.random() < 0.7 else whole
    (folder / "manual").mkdir()
    (folder / "manual" / f"{NAME}.zip").write_bytes(data)
    before = tree(folder)

    def check(records):
        assert [len(records[split]) for split in ("train", "test")] == [10, 10]

    def call():
        return reading.records(f"{builder.Builder.name}/ts", folder / "manual", folder / "data")

    rule = False if data == whole else None
    verdict = settle(call, check, refuses=rule)
    if verdict == Verdict.REFUSED:
        check_tree(folder, before)
    return verdict


def names(rng, folder):
    """Reads data sets with names that do not exist."""
    name = draws.draw(rng, ("", "/", "mnist", "japanese_vowels_lpc/uc", "../x", "[/]", "\x1b[0m"))
    return settle(lambda: reading.records(name, folder, folder / "data"), refuses=True)


KINDS = {
    "damaged bytes": (60, damage),
    "another text": (60, text),
    "odd members": (20, members),
    "a bomb": (4, bomb),
    "IDX": (60, numbers),
    "a whole run": (3, prepared),
    "an unknown data set": (5, names),
}
