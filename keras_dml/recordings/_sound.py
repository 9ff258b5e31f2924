"""Functions that read audio from WAVE and FLAC files.

The library soundfile reads FLAC files. The module reads WAVE files itself, because
`scipy.io.wavfile` cannot read mu-law, A-law, or files whose header does not state the length.
"""

import pathlib
import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from keras_dml import _messages
from keras_dml._messages import Message
from keras_dml.recordings import _bounds, _table, _times
from keras_dml.recordings._recording import Signal

if TYPE_CHECKING:
    from keras_dml.recordings._options import Options

SOUND = "sound"  # name of the audio channel in voice models
LOUDEST = 10.0  # largest allowed float, 20 dB above full scale, because mixed audio may exceed 1
FULL_INT16 = 2.0**15
LEAST_INT16 = 256.0  # whole numbers below this value may come from 8 or 16 bits
MOST_SAMPLES = 4 * _bounds.MOST_NUMBERS  # limit for a FLAC file of up to 20 MB
BLOCK = 2**16  # number of samples of a FLAC file that are decoded at once
CANCELED = 0.1  # channels cancel each other if the mean has less than this fraction of their power
MIXED = (
    "The {count} channels of audio were averaged. To read a single channel, name it by its number."
)
SILENT = "Audio channels that are constant were left out."
DIVIDED = "The floats are whole numbers in the range of 16 bits and were divided by 32768."
PCM, FLOAT, A_LAW, MU_LAW, EXTENSIBLE = 1, 3, 6, 7, 0xFFFE  # format tags of the header
# Sizes that a header contains if the recording program could not write the true length after
# recording. Such programs write 0, the largest signed or unsigned integer of 32 bits, or a number
# that is smaller than this integer by the size of a header.
ENDLESS = (range(1), range(0x7FFFFE00, 0x80000001), range(0xFFFFFE00, 0x100000000))
UNKNOWN_LENGTH = (
    "The header does not state the length of the audio, so the file was read to its end."
)


def read_wav(path: pathlib.Path, options: "Options") -> tuple[Signal, float]:
    """Reads a WAVE file, and scales the samples so that full scale is 1.

    Raises:
        ValueError: If the file is not a complete WAVE file, if its rate differs from the rate in
            `options`, or if it contains floats far beyond full scale.
    """
    _check_has_no_times(path, options)
    try:
        sound = _decode_wave(path.read_bytes())
    except ValueError as error:
        raise ValueError(
            f"{path} is not a complete WAVE file of integers, floats, mu-law or A-law: {error}. "
            "Convert it, for example by ffmpeg -i FILE new.wav."
        ) from None
    values, notes = sound.values, sound.notes
    if sound.is_float:
        values, notes_on_scale = _full_scale(path, values)
        notes += notes_on_scale
    return _signal(path, values, sound.rate_hz, options, notes)


def read_flac(path: pathlib.Path, options: "Options") -> tuple[Signal, float]:
    """Reads a FLAC file, and scales the samples so that full scale is 1.

    Raises:
        ImportError: If soundfile is not installed. The message contains the command that installs
            soundfile.
        ValueError: If the file is not a complete FLAC file, or if its rate differs from the rate in
            `options`.
    """
    _check_has_no_times(path, options)
    try:
        import soundfile
    except (ImportError, OSError):  # OSError: the library libsndfile is not installed
        raise ImportError(
            f"Reading {path} needs soundfile, which is not installed. Install it by "
            'pip install "keras-dml[flac]".'
        ) from None
    most = max(MOST_SAMPLES, path.stat().st_size)
    try:
        with soundfile.SoundFile(path) as file:
            values, rate = _samples(file, most), file.samplerate
            is_cut = values.size <= most and len(values) != file.frames
            if file.format != "FLAC" or is_cut:
                raise ValueError(
                    f"the file contains {len(values)} of the {file.frames} samples that its "
                    f"{file.format} header states"
                )
    except (soundfile.SoundFileError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a complete FLAC file: {str(error).rstrip('.')}. Convert it, for "
            "example by ffmpeg -i FILE new.wav."
        ) from None
    _bounds.check_numbers(path, values.size, most)
    return _signal(path, values, rate, options, ())


def _check_has_no_times(path, options):
    for name in ("time", "time_unit"):
        if getattr(options, name) is not None:
            raise ValueError(
                Message(
                    "{path} is audio, which has no column of times. Leave out {argument}.",
                    path=path,
                    argument=_messages.name(name),
                )
            )


def _signal(path, values, rate, options, notes):
    """Returns the `Signal` of the requested channels, and the resolution of the clock, which is 0.

    Voice models request the channels `("sound",)`. For voice models, the function averages several
    channels to one channel.
    """
    count, channels = values.shape[1], options.channels
    _bounds.check_columns(path, "its header", count)
    if count > 1 and channels is not None and tuple(channels) == (SOUND,):
        values, notes_on_mean = _mean(path, values)
        count, notes = 1, notes + notes_on_mean
    columns, names = _table.numbered(path, count, channels)
    if count == 1 and channels is None:
        names = (SOUND,)
    values = values if columns == [*range(count)] else values[:, columns]
    values = _checked(path, values, names)
    rate = _times.agreed(path, float(rate), options.rate_hz, "its header")
    units = (None,) * len(names)
    return Signal(path, values, names, units, None, rate, _place, notes), 0.0


def _place(row):
    return f"sample {row}"


def _checked(path, values, channels):
    """Checks that all values are finite and converts them to float32."""
    if not len(values):
        raise ValueError(f"{path} holds no steps. Leave it out.")
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32, copy=False)
    is_wrong = ~np.isfinite(narrow)
    if is_wrong.any():
        row, column = np.argwhere(is_wrong)[0]
        raise ValueError(
            f"{path}, {_place(row)}: channel {channels[column]!r} is {values[row, column]}, but "
            "every step needs a finite number. Interpolate such steps, or leave the recording out."
        )
    return narrow


def _samples(file, most):
    """Reads the samples of an open FLAC file as float32. Stops after the first block that exceeds
    `most` samples.

    The function checks the limit while it decodes, because the number of samples in the header may
    be wrong.
    """
    blocks, count = [], 0
    while count <= most and len(block := file.read(BLOCK, dtype="float32", always_2d=True)):
        blocks.append(block)
        count += block.size
    return np.concatenate(blocks or [np.empty((0, file.channels), np.float32)])


def _mean(path, values):
    """Averages the channels that are not constant. Returns the mean and notes about the
    channels."""
    is_sound = np.ptp(values, axis=0) > 0 if len(values) else np.ones(values.shape[1], bool)
    notes = ()
    if is_sound.any() and not is_sound.all():
        values, notes = values[:, is_sound], (SILENT,)
    if values.shape[1] == 1:
        return values, notes
    mean = values.mean(axis=1, keepdims=True, dtype=np.float64)
    if is_sound.any() and mean.var() < CANCELED * _variances(values).mean():
        raise ValueError(
            f"{path} has {values.shape[1]} channels of audio that cancel each other when averaged. "
            f"Name one of the channels by its number, from 1 to {values.shape[1]}."
        )
    return mean, (*notes, MIXED.format(count=values.shape[1]))


def _variances(values):
    """Computes the variance of each channel in float64, without a float64 copy of all samples."""
    means = values.mean(axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->j", values, values, dtype=np.float64, casting="same_kind")
    return squares / len(values) - means**2


def _full_scale(path, values):
    """Scales floats so that full scale is 1. Returns the scaled floats and notes about the
    scaling."""
    with np.errstate(invalid="ignore"):
        peak = np.abs(values).max(initial=0.0)
        is_whole = bool(peak < np.inf) and bool((values == np.round(values)).all())
    if peak <= LOUDEST and not (is_whole and peak > 1) or not peak < np.inf:
        return values, ()  # `_checked` raises the error for values that are not finite
    if is_whole and LEAST_INT16 <= peak <= FULL_INT16:
        return values / FULL_INT16, (DIVIDED,)
    raise ValueError(
        f"{path} holds floats up to {peak:.6g}, but the full scale of audio is 1. Divide the "
        "samples by the full scale of the recording, which is 32768 for 16 bits."
    )


class _Sound(NamedTuple):
    """Samples of a WAVE file.

    Attributes:
        rate_hz: Sampling rate, in samples per second.
        values: Samples, shape `(time, channels)`. The dtype is float64 if the file stores float64,
            and float32 otherwise. Integer samples are scaled so that full scale is 1.
        is_float: Whether the file stores floats.
        notes: Sentences that describe assumptions about the file.
    """

    rate_hz: int
    values: np.ndarray
    is_float: bool
    notes: tuple[str, ...]


def _decode_wave(data):
    """Decodes the bytes of a WAVE file. The file may be of the kind RIFF, RIFX (big-endian) or
    RF64.

    Raises:
        ValueError: If the bytes are not a complete WAVE file, or if the samples are compressed. The
            message contains the reason.
    """
    kind = data[:4]
    if kind not in (b"RIFF", b"RIFX", b"RF64") or data[8:12] != b"WAVE":
        raise ValueError("the file does not begin with the header of a WAVE file")
    order = ">" if kind == b"RIFX" else "<"
    form, long_size, start = None, None, 12
    while True:
        if start + 8 > len(data):
            raise ValueError("the file has no samples, or it is cut off before the samples")
        name, size = data[start : start + 4], struct.unpack_from(f"{order}I", data, start + 4)[0]
        start += 8
        if name == b"data":
            break
        if start + size > len(data):
            raise ValueError(f"the chunk {name.decode('latin-1')!r} of the file is cut off")
        if name == b"fmt ":
            form = data[start : start + size]
        if name == b"ds64" and size >= 16:
            long_size = struct.unpack_from("<Q", data, start + 8)[0]
        start += size + size % 2
    if form is None or len(form) < 16:
        raise ValueError("the file does not state how samples are stored")
    tag, channels, rate, _, block, bits = struct.unpack_from(f"{order}HHIIHH", form)
    if tag == EXTENSIBLE and len(form) >= 26:
        tag = struct.unpack_from(f"{order}H", form, 24)[0]
    if kind == b"RF64" and size == 0xFFFFFFFF and long_size is not None:
        size = long_size
    rest = len(data) - start
    notes = ()
    if (
        any(size in sizes for sizes in ENDLESS)
        and size != rest
        and not _are_chunks(data, start + size, order)
    ):
        size = rest - rest % max(block, 1)
        notes = (UNKNOWN_LENGTH,)
    if size > rest:
        raise ValueError(
            f"the header of the file states {size} bytes of audio, but the file has {rest} bytes "
            "of audio"
        )
    if not channels or not block or block % channels or not 0 < rate < 2**31:
        raise ValueError(
            f"the header of the file states invalid values: {channels} channels, {block} bytes per "
            f"step and {rate} Hz"
        )
    if not 0 < bits <= 8 * block // channels:
        raise ValueError(
            f"the header of the file states {bits} bits and {block // channels} bytes per sample, "
            "which contradict each other"
        )
    if size % block:
        raise ValueError(
            f"the file has {size} bytes of audio, which is not a multiple of {block} bytes per step"
        )
    values = _decoded(memoryview(data)[start : start + size], tag, block // channels, bits, order)
    return _Sound(rate, values.reshape(-1, channels), tag == FLOAT, notes)


def _are_chunks(data, start, order):
    """Returns whether the bytes from `start` to the end are complete chunks. Chunks may follow the
    samples in a WAVE file."""
    if start >= len(data):
        return start == len(data)
    while start + 8 <= len(data):
        name, size = data[start : start + 4], struct.unpack_from(f"{order}I", data, start + 4)[0]
        if not all(32 <= letter < 127 for letter in name):
            return False
        start += 8 + size + size % 2
    return start in (len(data), len(data) + 1)


def _decoded(raw, tag, width, bits, order):
    if tag == FLOAT and width in (4, 8):
        return np.frombuffer(raw, f"{order}f{width}").astype(f"f{width}")
    if tag == PCM and width == 1:  # samples of up to 8 bits are unsigned
        return _CODES_OF_PCM[np.frombuffer(raw, np.uint8)]
    if tag == PCM and width in (2, 4, 8):
        return _scaled(np.frombuffer(raw, f"{order}i{width}"), 8 * width - 1)
    if tag == PCM and width == 3:
        wide = np.zeros((len(raw) // 3, 4), np.uint8)  # the lowest of four bytes stays zero
        wide[:, slice(1, 4) if order == "<" else slice(3)] = np.frombuffer(raw, np.uint8).reshape(
            -1, 3
        )
        return _scaled(wide.view(f"{order}i4")[:, 0], 31)
    if tag == MU_LAW and width == 1:
        return _CODES_OF_MU_LAW[np.frombuffer(raw, np.uint8)]
    if tag == A_LAW and width == 1:
        return _CODES_OF_A_LAW[np.frombuffer(raw, np.uint8)]
    raise ValueError(
        f"the samples in the file have format {tag} with {bits} bits, which cannot be read"
    )


def _scaled(numbers, bits):
    """Converts integers to float32, and scales them so that full scale is 1."""
    values = numbers.astype(np.float32)
    values *= np.float32(2.0**-bits)
    return values


def _decode_mu_law(codes):
    """Decodes mu-law bytes (ITU-T G.711, table 2). A byte has 1 sign bit, 3 exponent bits and 4
    mantissa bits."""
    exponent, mantissa = (codes >> 4) & 7, (codes & 15).astype(np.int64)
    size = (((mantissa << 3) + 132) << exponent) - 132
    return np.where(codes & 128, -size, size) / 2.0**15


def _decode_a_law(codes):
    """Decodes A-law bytes (ITU-T G.711, table 1). A byte has 1 sign bit, 3 exponent bits and 4
    mantissa bits."""
    exponent, mantissa = ((codes >> 4) & 7).astype(np.int64), (codes & 15).astype(np.int64)
    size = (mantissa << 4) + 8
    size = np.where(exponent == 0, size, (size + 256) << np.maximum(exponent - 1, 0))
    return np.where(codes & 128, size, -size) / 2.0**15


# Tables with the float32 sample for each possible byte. With these tables, decoding needs no more
# memory than the samples themselves.
_CODES = np.arange(256, dtype=np.uint8)
_CODES_OF_PCM = ((_CODES - 128.0) / 128).astype(np.float32)
_CODES_OF_MU_LAW = _decode_mu_law(~_CODES).astype(np.float32)
_CODES_OF_A_LAW = _decode_a_law(_CODES ^ 0x55).astype(np.float32)
