"""Measures how the resampler attenuates images and aliases, and its loss in the passband.

python -m tests.bench.resampling

Each row is measured with tones. The column "passband" shows how much resampling changes the level
of a tone. The value is the largest change among all tones up to 90 % of the lower Nyquist
frequency. The column "image or alias" contains the level of the strongest unwanted tone. An
unwanted tone has another frequency than the original tone. If the rate is raised, the original
tones go up to 90 % of the lower Nyquist frequency. If the rate is lowered, the original tones lie
above the new Nyquist frequency.
"""

import argparse
from fractions import Fraction

import numpy as np

from keras_dml.recordings import _resampling
from tests.bench import smoke

PAIRS = (
    (8_000, 16_000),
    (11_025, 16_000),
    (50, 100),
    (60, 100),
    (102.4, 128),
    (16_000, 8_000),
    (44_100, 16_000),
    (48_000, 16_000),
    (22_050, 16_000),
    (100, 50),
    (128, 100),
    (102.4, 50),
    (60, 50),
)
SMOKE = {"PAIRS": PAIRS[:2], "TONES": 3, "SECONDS_OF_STEPS": 1500}
TONES = 25  # number of frequencies per pair of rates
SECONDS_OF_STEPS = 6000  # number of time steps at the lower rate
EDGE = 200  # time steps at the start and at the end that are not measured


def tone(frequency, rate_hz, count):
    """Returns a tone of level 1, shape `(time, 1)`."""
    return np.cos(2 * np.pi * frequency * np.arange(count) / rate_hz + 1)[:, None]


def level(values, frequency, rate_hz):
    """Computes the level of a tone in a signal by least squares, and the root mean square (RMS) of
    the residual.
    """
    times = np.arange(len(values)) / rate_hz
    waves = np.stack([f(2 * np.pi * frequency * times) for f in (np.cos, np.sin)], axis=1)
    weights = np.linalg.lstsq(waves, values, rcond=None)[0]
    return np.hypot(*weights), np.sqrt(2 * np.mean((values - waves @ weights) ** 2))


def measured(native_hz, rate_hz):
    """Measures the largest change in the passband and the strongest image or alias, in dB."""
    lower = min(native_hz, rate_hz)
    count = int(SECONDS_OF_STEPS * native_hz / lower)
    ratio = _resampling.ratio_of(rate_hz, native_hz)
    changes, references = [], []
    for frequency in np.linspace(0.02, 0.9, TONES) * lower / 2:
        values = _resampling.polyphase(tone(frequency, native_hz, count), ratio)[EDGE:-EDGE, 0]
        size, rest = level(values, frequency, rate_hz)
        changes.append(20 * np.log10(size))
        references.append(20 * np.log10(rest))
    if rate_hz < native_hz:
        for frequency in np.linspace(1.0, 0.98 * native_hz / rate_hz, TONES) * rate_hz / 2:
            values = _resampling.polyphase(tone(frequency, native_hz, count), ratio)[EDGE:-EDGE, 0]
            references.append(20 * np.log10(np.sqrt(2 * np.mean(values**2))))
    return max(changes, key=abs), max(references)


def main():
    """Prints the table."""
    smoke.parse(argparse.ArgumentParser(description=__doc__), globals(), SMOKE)
    print("from Hz | to Hz | ratio | passband dB | image or alias dB")
    for native_hz, rate_hz in PAIRS:
        change, reference = measured(native_hz, rate_hz)
        ratio = Fraction(_resampling.ratio_of(rate_hz, native_hz))
        print(f"{native_hz:g} | {rate_hz:g} | {ratio} | {change:+.3f} | {reference:.1f}")


if __name__ == "__main__":
    main()
