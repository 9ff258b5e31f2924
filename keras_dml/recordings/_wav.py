"""Recordings of sound: WAVE files of integers or floats."""

import warnings

import numpy as np
import scipy.io.wavfile

from keras_dml.recordings import _channels, _recording, _table

SOUND = "sound"  # the name of one channel, as the models of voices have it


def read(path, channels, rate_hz):
    """The sound of a file, full scale 1.

    Args:
        path: The file.
        channels: Names of all channels in order, or numbers of some from 1; None: all.
        rate_hz: Samples a second, which are compared with those of the file; None: not compared.

    Raises:
        ValueError: If it is no such file, compressed, cut, or of another rate.
    """
    rate, samples = _samples(path)
    samples = _full_scale(samples)
    if samples.ndim == 1:
        samples = samples[:, None]
    count = samples.shape[1]
    columns, names = _channels.numbered(path, count, channels)
    if count == 1 and channels is None:
        names = (SOUND,)
    values = _recording.checked(path, samples[:, columns], names, lambda row: f"sample {row}")
    rate = _table.agreed(path, float(rate), rate_hz, "its header")
    return _recording.Recording(path, values, names, (None,) * len(names), rate)


def _samples(path):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.io.wavfile.WavFileWarning)  # of foreign chunks
            warnings.filterwarnings("error", "Reached EOF", scipy.io.wavfile.WavFileWarning)
            rate, samples = scipy.io.wavfile.read(path)
    except Exception as error:  # on bytes that are none it raises what its parts happen to raise
        raise ValueError(
            f"{path} is not a complete WAVE file of integers or floats: "
            f"{str(error).rstrip('.') or type(error).__name__}. Convert it, for example by ffmpeg "
            "-i FILE new.wav."
        ) from None
    if rate <= 0:
        raise ValueError(f"{path} says {rate} samples a second: it is damaged.")
    return rate, samples


def _full_scale(samples):
    if samples.dtype.kind == "f":
        return samples
    if samples.dtype.kind == "u":  # up to 8 bit
        return (samples.astype(np.float64) - 128) / 128
    return samples / float(2 ** (8 * samples.dtype.itemsize - 1))
