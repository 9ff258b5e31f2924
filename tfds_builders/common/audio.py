"""Functions that read audio recordings from an archive, mix them to one channel, resample them, and
find repeated recordings.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable
from typing import Protocol

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common.archive import Source
from tfds_builders.common.errors import FormatError
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.parsers import wav

log = logging.getLogger("tfds_builders")

FULL_SCALE = 32_768  # of 16 bit


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the sampling rate of the records in an audio data set.

    Attributes:
        rate_hz: Samples per second in the records. The rate is a multiple or a divisor of the rate
            in the files.
    """

    rate_hz: int = 16_000


class Recording(Protocol):
    """Protocol of audio recordings. A recording states the name of its file, and the name of the
    person who speaks (the owner).
    """

    member: str  # in the archive
    file: str  # name in records and messages
    owner: str  # such as "actor 07"


def features(rate_hz: int, file_hz: int) -> dict[str, object]:
    """Returns the TFDS features of an audio recording.

    Args:
        rate_hz: Samples per second of the records.
        file_hz: Samples per second of the files. If both rates are equal, the records contain the
            unchanged samples of the files.
    """
    dtype = np.int16 if rate_hz == file_hz else np.float32
    audio = tfds.features.Tensor(shape=(None,), dtype=dtype, encoding="bytes")
    return {"audio": audio, "rate": np.int32}


def record(source: Source, member: str, file_hz: int, rate_hz: int) -> dict[str, object]:
    """Returns the values of one recording for the features that `features` declares. See `mono` and
    `resampled`.
    """
    samples = mono(source, member, file_hz)
    return {"audio": resampled(samples, file_hz, rate_hz), "rate": rate_hz}


def mono(source: Source, member: str, rate_hz: int) -> np.ndarray:
    """Reads a recording as one int16 channel. A stereo recording becomes the mean of its two
    channels.

    Args:
        source: The archive.
        member: Name of the recording in the archive.
        rate_hz: Required rate in samples per second.

    Raises:
        FormatError: If the recording cannot be read, if its rate is not `rate_hz`, or if it has
            more than two channels.
    """
    sound = wav.parse(source.open(member), name=member)
    channels = sound.samples.shape[1]
    if sound.rate_hz != rate_hz or channels > 2:
        raise FormatError(
            member, "", f"the sound has {sound.rate_hz:,} Hz and {channels} channels",
            f"{rate_hz:,} Hz and one or two channels",
            "The file is a converted copy. Use the files of the official archive.",
        )  # fmt: skip
    if np.ptp(sound.samples.astype(np.int32), axis=1).any():
        log.warning("%s has two channels that differ. The record keeps their mean.", member)
    return np.round(sound.samples.mean(axis=1)).astype(np.int16)


def resampled(samples: np.ndarray, rate_hz: int, wanted_hz: int) -> np.ndarray:
    """Resamples int16 samples to float32 samples from -1 to 1. If the rates are equal, returns the
    int16 samples unchanged.
    """
    if rate_hz == wanted_hz:
        return samples
    from scipy.signal import resample_poly

    # the function divides both rates by their common divisor
    return resample_poly(samples / FULL_SCALE, wanted_hz, rate_hz).astype(np.float32)


def repeated(source: Source, recordings: Iterable[Recording]) -> dict[str, str]:
    """Finds recordings with the same samples as an earlier recording of the same owner.

    Returns:
        A mapping from each repeated file to the first file with the same samples.

    Raises:
        ArchiveError: If recordings of two owners have the same samples, because one of the two
            owners must then be wrong.
        FormatError: If a recording cannot be read.
    """
    repeats = Repeats(source.title, "recordings", "kept")
    for recording in track(recordings, f"{source.title}: looking for repeated recordings"):
        sound = wav.parse(source.open(recording.member), name=recording.member)
        repeats.add(sound.samples, recording.file, recording.owner)
    repeats.report()
    return repeats.same_as
