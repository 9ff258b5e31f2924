"""Recordings of sound: WAVE files, and FLAC files by soundfile."""

import numpy as np

from keras_dml.recordings import _bounds, _channels, _recording, _riff, _table

SOUND = "sound"  # the name of one channel, as the models of voices have it
LOUDEST = 10.0  # 20 dB above full scale: floats may pass it a little, as mixes do
FULL_INT16 = 2.0**15
LEAST_INT16 = 256.0  # of whole numbers below it, one cannot say whether they have 8 bits or 16
MOST_SAMPLES, BLOCK = 4 * _bounds.MOST_NUMBERS, 2**16  # of a FLAC file; read at once
CANCELED = 0.1  # share of power that is left of channels of opposite sign
MIXED = (
    "The {count} channels of sound were averaged. Ask for a channel by its number to read it alone."
)
SILENT = "Channels of sound that are constant were left out."
DIVIDED = "The floats are whole numbers as of 16 bits and were divided by 32768."


def read(path, channels, rate_hz):
    """Reads the sound of a WAVE file, full scale 1.

    Args:
        path: The file.
        channels: Names of all channels in order, or numbers of some from 1; None: all.
            `("sound",)`, which models of voices take, is the mean of several channels.
        rate_hz: Samples per second, which are compared with the rate of the file; None: not
            compared.

    Raises:
        ValueError: If the file is not a complete WAVE file, has another rate, or holds floats far
            beyond full scale.
    """
    try:
        sound = _riff.read(path.read_bytes())
    except ValueError as error:
        raise ValueError(
            f"{path} is not a complete WAVE file of integers, floats, mu-law or A-law: {error}. "
            "Convert it, for example by ffmpeg -i FILE new.wav."
        ) from None
    values, notes = sound.values, sound.notes
    if sound.is_float:
        values, scaled = _full_scale(path, values)
        notes += scaled
    return _recording_of(path, values, sound.rate_hz, channels, rate_hz, notes)


def read_flac(path, channels, rate_hz):
    """Reads the sound of a FLAC file, full scale 1.

    Args:
        path: The file.
        channels: As in `read`.
        rate_hz: As in `read`.

    Raises:
        ImportError: If soundfile is not installed; the message names the extra.
        ValueError: If the file is not a complete FLAC file, or has another rate.
    """
    try:
        import soundfile
    except (ImportError, OSError):  # OSError: without the library libsndfile
        raise ImportError(
            f'{path} is read by soundfile, which is not installed: pip install "keras-dml[flac]".'
        ) from None
    most = max(MOST_SAMPLES, path.stat().st_size)
    try:
        with soundfile.SoundFile(path) as file:
            values, rate = _samples(file, most), file.samplerate
            is_cut = values.size <= most and len(values) != file.frames
            if file.format != "FLAC" or is_cut:
                raise ValueError(f"{file.format} with {len(values)} of {file.frames} samples")
    except (soundfile.SoundFileError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a complete FLAC file: {str(error).rstrip('.')}. Convert it, for "
            "example by ffmpeg -i FILE new.wav."
        ) from None
    _bounds.check_numbers(path, values.size, most)
    return _recording_of(path, values, rate, channels, rate_hz, ())


def _samples(file, most):
    """The samples of an open FLAC file, float32, up to a few more than `most`. The header may say
    any number of them."""
    blocks, count = [], 0
    while count <= most and len(block := file.read(BLOCK, dtype="float32", always_2d=True)):
        blocks.append(block)
        count += block.size
    return np.concatenate(blocks or [np.empty((0, file.channels), np.float32)])


def _recording_of(path, values, rate, channels, rate_hz, notes):
    count = values.shape[1]
    _bounds.check_columns(path, "its header", count)
    if count > 1 and channels is not None and tuple(channels) == (SOUND,):
        values, mixed = _mean(path, values)
        count, notes = 1, notes + mixed
    columns, names = _channels.numbered(path, count, channels)
    if count == 1 and channels is None:
        names = (SOUND,)
    values = values if columns == [*range(count)] else values[:, columns]
    values = _recording.checked(path, values, names, lambda row: f"sample {row}")
    rate = _table.agreed(path, float(rate), rate_hz, "its header")
    return _recording.Recording(path, values, names, (None,) * len(names), rate, notes)


def _mean(path, values):
    """The mean of the channels that hold sound."""
    is_sound = np.ptp(values, axis=0) > 0 if len(values) else np.ones(values.shape[1], bool)
    notes = ()
    if is_sound.any() and not is_sound.all():
        values, notes = values[:, is_sound], (SILENT,)
    if values.shape[1] == 1:
        return values, notes
    mean = values.mean(axis=1, keepdims=True, dtype=np.float64)
    if is_sound.any() and mean.var() < CANCELED * _variances(values).mean():
        raise ValueError(
            f"{path} has {values.shape[1]} channels of sound that cancel each other when averaged. "
            f"Ask for one by its number, from 1 to {values.shape[1]}."
        )
    return mean, (*notes, MIXED.format(count=values.shape[1]))


def _variances(values):
    """Variance of each channel, summed in float64 without a copy of the samples."""
    means = values.mean(axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->j", values, values, dtype=np.float64, casting="same_kind")
    return squares / len(values) - means**2


def _full_scale(path, values):
    """Floats with full scale 1, and what was assumed."""
    with np.errstate(invalid="ignore"):
        peak = np.abs(values).max(initial=0.0)
        is_whole = bool(peak < np.inf) and bool((values == np.round(values)).all())
    if peak <= LOUDEST and not (is_whole and peak > 1) or not peak < np.inf:
        return values, ()  # values that are not finite are refused later
    if is_whole and LEAST_INT16 <= peak <= FULL_INT16:
        return values / FULL_INT16, (DIVIDED,)
    raise ValueError(
        f"{path} holds floats up to {peak:.6g}, and sound has full scale 1. Divide the samples by "
        "the full scale that they were recorded with: 32768 for 16 bits."
    )
