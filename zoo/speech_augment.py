"""Augments recordings of voices. Simulates noise, other voices, rooms and a telephone, and creates
new voices by changing the speed.
"""

import numpy as np
from scipy import fft, signal

from keras_dml.training import People

SPEEDS = {  # name: up and down factors of the resampling
    "0.8": (10, 8),
    "0.9": (10, 9),
    "1.1": (10, 11),
    "1.2": (10, 12),
}
NOISES = ("white", "pink", "babble")
SNR_DB = (5.0, 20.0)
VOICES = (3, 6)  # in babble
RT60_SECONDS = (0.1, 0.6)  # until an echo has died away by 60 dB: a car to a large room
DIRECT_DB = (0.0, 12.0)  # direct sound over reverberation
TELEPHONE_HZ = (300.0, 3_400.0)
COMPANDING = 255.0  # mu of the codec of telephones (G.711), 8 bits a sample
LOUDEST = 0.5  # peak before the codec, full scale 1


def with_speeds(people, speeds=tuple(SPEEDS)):
    """Adds slower and faster copies of recordings as recordings of **other speakers**.

    Resampling changes the pitch and the formants by 10 or 20 %. This change simulates another
    person. If the copies were added as recordings of the same speaker, a model would learn to
    ignore the pitch.

    Args:
        people: `keras_dml.training.People`.
        speeds: Names of speeds in `SPEEDS`.

    Returns:
        `People` with additional speakers, one for each speed of each original speaker. The
        additional speakers are called `"01@0.8"`, `"01@0.9"` and so on.
    """
    voices = people
    for name in speeds:
        up, down = SPEEDS[name]
        changed = [
            signal.resample_poly(sound, up, down, axis=0).astype(np.float32)
            for sound in people.signals
        ]
        subjects = [f"{subject}@{name}" for subject in people.subjects]
        voices = voices + People(changed, subjects, people.sessions)
    return voices


def joined(people, samples, seed=0):
    """Extends short recordings by appending other recordings of the same speaker in random order.

    Args:
        people: `keras_dml.training.People`.
        samples: Smallest length of a recording in the result, in samples.
        seed: Seed of the random order.

    Returns:
        `People` with the same number of recordings, in the same order.
    """
    rng = np.random.default_rng(seed)
    subjects = np.asarray(people.subjects)
    longer = []
    for sound, subject in zip(people.signals, people.subjects, strict=True):
        parts, length = [sound], len(sound)
        members = np.flatnonzero(subjects == subject)
        while length < samples:
            parts.append(people.signals[rng.choice(members)])
            length += len(parts[-1])
        longer.append(np.concatenate(parts) if len(parts) > 1 else sound)
    return People(longer, people.subjects, people.sessions)


class Disturb:
    """Augmentation that adds reverberation, noise or a telephone line to random rows of a batch.

    Args:
        per_class: Number of adjacent rows of the same speaker in a batch. Babble, a mixture of
            voices, contains only voices of other speakers than the row.
        rate_hz: Samples per second.
        reverberant: Fraction of rows with added reverberation.
        noisy: Fraction of rows with added noise. The kind of noise is drawn from `NOISES`.
        distant: Fraction of rows that pass through a simulated telephone, after reverberation and
            noise are added.
    """

    def __init__(self, per_class, *, rate_hz=16_000, reverberant=0.5, noisy=0.75, distant=0.0):
        self.per_class, self.rate_hz = per_class, rate_hz
        self.reverberant, self.noisy, self.distant = reverberant, noisy, distant

    def __call__(self, batch, rng):
        """Augments a batch of shape `(rows, samples, 1)`. Samplers call this method as their
        argument `augment`.
        """
        sounds = batch[..., 0].astype(np.float32)
        clean = sounds.copy()
        rows = np.flatnonzero(rng.random(len(sounds)) < self.reverberant)
        if len(rows):
            sounds[rows] = reverberated(sounds[rows], rng, self.rate_hz)
        kinds = rng.choice(len(NOISES), len(sounds))
        for row in np.flatnonzero(rng.random(len(sounds)) < self.noisy):
            added = self._noise(NOISES[kinds[row]], clean, row, rng)
            sounds[row] = with_noise(sounds[row], added, rng.uniform(*SNR_DB))
        if self.distant:
            rows = np.flatnonzero(rng.random(len(sounds)) < self.distant)
            sounds[rows] = over_telephone(sounds[rows], self.rate_hz)
        return sounds[..., None]

    def _noise(self, kind, sounds, row, rng):
        if kind != "babble":
            return colored_noise(sounds.shape[1], kind, rng)
        speaker = np.arange(len(sounds)) // self.per_class
        return babble(sounds[speaker != row // self.per_class], rng)


def colored_noise(samples, kind, rng):
    """Generates noise with a variance of 1 and shape `(samples,)`.

    The kind is `"white"` or `"pink"`. The power of pink noise falls with the frequency.
    """
    white = rng.standard_normal(samples, dtype=np.float32)
    if kind == "white":
        return white
    size = fft.next_fast_len(samples, real=True)
    spectrum = fft.rfft(white, size)
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum), dtype=np.float32))
    spectrum[0] = 0
    pink = fft.irfft(spectrum, size)[:samples]
    return pink / pink.std()


def babble(sounds, rng):
    """Returns the sum of three to six voices. The voices are rows of `sounds`, which has shape
    `(rows, samples)`, and start at random positions.
    """
    count = min(rng.integers(VOICES[0], VOICES[1] + 1), len(sounds))
    rows = rng.choice(len(sounds), count, replace=False)
    starts = rng.integers(sounds.shape[1], size=count)
    return sum(np.roll(sounds[row], start) for row, start in zip(rows, starts, strict=True))


def with_noise(sound, noise, snr_db):
    """Adds noise to a recording. The power of the noise is `snr_db` decibels below the power of the
    recording. If the noise is silent, the recording does not change.
    """
    power, disturbing = np.mean(sound**2), np.mean(noise**2)
    gain = np.sqrt(power / max(disturbing, 1e-12) * 10 ** (-snr_db / 10))
    return sound + np.float32(gain) * noise


def reverberated(sounds, rng, rate_hz):
    """Adds the reverberation of a random room to each row. The response of a room is exponentially
    decaying noise.

    Args:
        sounds: Shape `(rows, samples)`.
        rng: `numpy.random.Generator`.
        rate_hz: Samples per second.

    Returns:
        Reverberant recordings with the same shape and power as `sounds`. They are not delayed.
    """
    rows = len(sounds)
    time = np.arange(int(RT60_SECONDS[1] * rate_hz)) / rate_hz
    rt60, direct_db = rng.uniform(*RT60_SECONDS, (rows, 1)), rng.uniform(*DIRECT_DB, (rows, 1))
    response = rng.standard_normal((rows, len(time))) * 10 ** (-3 * time / rt60)
    response[:, 0] = 0
    response *= np.sqrt(10 ** (-direct_db / 10) / np.sum(response**2, axis=1, keepdims=True))
    response[:, 0] = 1
    heard = signal.fftconvolve(sounds, response.astype(np.float32), axes=1)[:, : sounds.shape[1]]
    power = np.mean(sounds**2, axis=1, keepdims=True)
    return heard * np.sqrt(power / np.maximum(np.mean(heard**2, axis=1, keepdims=True), 1e-12))


def over_telephone(sounds, rate_hz):
    """Simulates a telephone for each row by a band-pass filter from 300 to 3,400 Hz and mu-law
    coding with 8 bits.

    Args:
        sounds: Shape `(rows, samples)`.
        rate_hz: Samples per second.

    Returns:
        Recordings of the same shape and level.
    """
    band = signal.butter(4, TELEPHONE_HZ, "bandpass", fs=rate_hz, output="sos")
    heard = signal.sosfilt(band, sounds, axis=1)
    peak = np.maximum(np.abs(heard).max(axis=1, keepdims=True), 1e-9)
    small = LOUDEST * heard / peak
    bits = np.round(
        127 * np.sign(small) * np.log1p(COMPANDING * np.abs(small)) / np.log1p(COMPANDING)
    )
    small = np.sign(bits) * np.expm1(np.abs(bits) / 127 * np.log1p(COMPANDING)) / COMPANDING
    return (small * peak / LOUDEST).astype(np.float32)
