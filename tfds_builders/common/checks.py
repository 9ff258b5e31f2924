"""List of known releases of the archives, and functions that compute checksums of archives and
folders.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging

from tfds_builders.common.archive import Source

log = logging.getLogger("tfds_builders")


@dataclasses.dataclass(frozen=True)
class Release:
    """A known archive, with its size in bytes, SHA-256 checksum, contents and file name."""

    size: int
    sha256: str
    holds: str
    file: str


RELEASES: dict[str, tuple[Release, ...]] = {
    "aalto_keystrokes": (
        Release(
            11_264_468,
            "ba53f25ce507e527c33dc480a73ada0e8422b6dbaea170617c73e93fd276d2ac",
            "1,829 of 168,000 people",
            "aalto_keystrokes_subset.tar.xz",
        ),
    ),
    "afew_spd": (),
    "gaitauth_walks": (
        Release(
            3_278_624,
            "0a0323d614dc476e42cd8fd118df3ac02e34a32af10cd7ea1124163c42b9af28",
            "26 of 38 people, 475 walks",
            "GaitAuth_DATASET.tar.xz",
        ),
    ),
    "ipol_gait": (
        Release(
            48_115_724,
            "66a32e97972b962ca54f6c8cb94899c721de250a9af33a636e581a504fd17612",
            "180 of 230 subjects, 355 of 1,020 trials",
            "GaitData.tar.xz",
        ),
    ),
    "hdm05_mocap": (
        Release(
            10_640_048,
            "537671710c617e9d7fc3bf14dad9d1570c06df9f840c48471ff3d9e65e7e36b9",
            "233 of 2,337 clips: 11 of 130 classes, 4 of 5 actors",
            "HDM05_cut_amc_bd_bk_dg_mm.tar.xz",
        ),
    ),
    "pacs_images": (
        Release(
            10_965_296,
            "3510e09b6966668c0aa4546152560ef11cbd1dec61e21ed823013da2b01a1fb7",
            "588 of 9,991 images: 21 for each domain and class",
            "PACS_subset.tar.xz",
        ),
    ),
    "ravdess_speech": (
        Release(
            18_875_960,
            "6ad432f380ef08f88621d4f7a2b488a4298a46ed0cebc54671892113cf77e11b",
            "240 of 1,440 recordings: 20 of 24 actors, 3 of 8 emotions",
            "Audio_Speech_Actors_subset.tar.xz",
        ),
    ),
    "hyke_voice": (
        Release(
            25_278_956,
            "c79d7de516486635469b92a2b0040d86f7bc4ef64e2f8889dbab5effd8e1f443",
            "265 of 415 recordings: 53 of 83 voices",
            "hyke_audio.tar.xz",
        ),
    ),
    "deap_eeg": (),
    "diem_gaze": (
        Release(
            7_727_656,
            "d581117376045d1e4c86130153112dc010ed6591f64ae04a6992effd13b2e95d",
            "231 recordings of 163 people: 3 of 84 films",
            "DIEM_event_data.tar.xz",
        ),
    ),
    "findwho_gaze": (
        Release(
            717_449,
            "869db14a55954489f2fb9bcd8afe553372a45f8183f37a939b7d255b46080f9a",
            "122,008 fixations by 33 of 39 people on 75 videos",
            "find.zip",
        ),
    ),
    "gazebase_gaze": (),
    "gazecom_gaze": (
        Release(
            8_700_000,
            "e923e5961081d7121953d5ce4b6b46b72d737a7b715b713ae1c68c24e35a6c1a",
            "482 of 844 recordings: 45 of 54 people, 12 of 18 movies",
            "gaze.tar.xz",
        ),
    ),
    "sp_sw_har": (
        Release(
            7_285_268,
            "82b16c1a61cc61e8690dcede240ba280dd2933d9ac344022ff746dd10d00e987",
            "15 of 23 people, 290 of 446 recordings",
            "sp-sw-har-dataset_part.tar.xz",
        ),
    ),
    "voxceleb_verification": (
        Release(
            123_464,
            "df423c88979e6940be949ccbd012a433d89ca8aae9ada02d69b48fed5f796abe",
            "trials O and the speakers of VoxCeleb1",
            "voxceleb_lists.tar.xz",
        ),
    ),
    "mini_imagenet_ravi": (
        Release(
            165_960,
            "533556fda1e35a2386b1e722574797a52a010b2df762932a7dbeff16586b5cac",
            "the lists of Ravi2017, and those of Vinyals2016",
            "mini_imagenet_splits.tar.xz",
        ),
    ),
    "ltmm_gait": (),
    "motionsense_inertial": (),
    "uci_har_inertial": (),
    "uci_eeg": (
        Release(
            21_305_560,
            "ad9494090368e9270259c852a24c5f986c47e193ea29af873740dce3767601e7",
            "17 of the 20 subjects of the training part of `large`",
            "SMNI_CMI_TRAIN.tar.xz",
        ),
    ),
    "japanese_vowels_lpc": (
        Release(
            447_729,
            "b6e456ec38b62a40709eeb0ff43a3aa29bb7d9c663f731c57f0c9df158d3e07b",
            "all 640 utterances, .ts",
            "JapaneseVowels.zip",
        ),
        Release(
            453_951,
            "3f7f5d5e05fa8aa248f0cdd713455ae74a61ef93ba12fcbd4e479daea1274347",
            "all 640 utterances, ae.train and ae.test",
            "japanese_vowels_uci.zip",
        ),
    ),
}


def origins(dataset: str, sources: dict[str, Source]) -> dict[str, object]:
    """Returns the entries `fingerprints` and `archives` for the metadata of a data set.
    `fingerprints` maps the key of each archive to its checksum. `archives` lists the descriptions
    of the archives.

    Args:
        dataset: Name of the data set.
        sources: Opened archives, as the builder's `sources` returns them.
    """
    archives = {key: origin(dataset, source) for key, source in sources.items()}
    return {
        "fingerprints": {key: archive["fingerprint"] for key, archive in archives.items()},
        "archives": list(archives.values()),
    }


def origin(dataset: str, source: Source) -> dict[str, str]:
    """Describes an archive for the metadata of the data set.

    Logs a warning if the checksum is unknown. An unknown checksum is not an error, because the user
    may have packed the files again.

    Args:
        dataset: Name of the data set.
        source: The opened archive or folder.

    Returns:
        Dictionary with the keys `name`, `fingerprint` and `holds`. The fingerprint is the SHA-256
        checksum. `holds` describes the contents of a known release, and is `""` for an unknown
        archive.
    """
    mark = fingerprint(source)
    contents = {release.sha256: release.holds for release in RELEASES.get(dataset, ())}
    if mark not in contents and source.path is not None and source.path.is_file():
        log.warning(
            "%s: %s has an unknown checksum (sha256 %s). The builder still reads the file.",
            dataset, source.title, mark,
        )  # fmt: skip
    return {"name": source.title, "fingerprint": mark, "holds": contents.get(mark, "")}


def fingerprint(source: Source) -> str:
    """Returns the SHA-256 checksum of an archive file.

    For a folder, or for an archive within an archive, the checksum covers the names and contents of
    the files in it.
    """
    if source.path is not None and source.path.is_file():
        with source.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    listing = "".join(f"{name}\t{source.digest(name)}\n" for name in source.names)
    return hashlib.sha256(listing.encode()).hexdigest()


def stamp(source: Source) -> str | None:
    """Returns a digest of the paths, sizes and times of the files in a folder, or None for an
    archive.

    Any change of a file changes the digest. A program may change a file and restore the size and
    the modification time, but it cannot restore the inode's change time.
    """
    if source.path is None or not source.path.is_dir():
        return None
    digest = hashlib.sha256(str(source.path.resolve()).encode())
    for name in source.names:
        file = (source.path / name).stat()
        state = file.st_size, file.st_mtime_ns, file.st_ctime_ns, file.st_ino
        digest.update(f"{name}\t{state}\n".encode())
    return digest.hexdigest()
