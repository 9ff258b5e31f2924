"""Builds a voice encoder that was designed for the GE2E loss, and computes embeddings of speakers
(d-vectors) from raw audio.
"""

import pathlib

from keras_dml._backend import keras
from keras_dml._typing import Path
from keras_dml.layers.last_lstm import LastLSTM
from keras_dml.layers.mel_power import MelPower
from keras_dml.layers.minimum_level import MinimumLevel
from keras_dml.layers.windowed_mean import WindowedMean

RATE_HZ = 16000
LEVEL = 10 ** (-30 / 20)  # -30 dB relative to full scale
HOP, FRAME = 160, 400  # samples
# Numbers of frames. A window is 1.6 s long, 1.3 windows start per second, and every window after
# the first needs audio for 3/4 of its length.
WINDOW, STEP, REACH = 160, 77, 120


def ge2e(
    weights: Path | None = None, *, units: int = 256, depth: int = 3, bands: int = 40
) -> keras.Model:
    """Builds a voice encoder that computes d-vectors from raw audio (generalized end-to-end loss,
    GE2E; Wan2018, as implemented in Resemblyzer 0.1.4).

    If a recording is quieter than -30 dB relative to full scale, the model amplifies the recording
    to this level. The model divides audio into windows of 1.6 s and computes mel bands of each
    window. LSTM layers process the bands, and a dense layer with ReLU processes the last output of
    the LSTM layers. The result of each window is scaled to length 1. The embedding is the mean over
    all windows, and is also scaled to length 1. `zoo/voice_ge2e_sim/convert.py` writes a file with
    the weights of Resemblyzer, which were trained on thousands of speakers. In contrast to
    `preprocess_wav` of Resemblyzer, the model does not remove silence.

    Functional model:
        Input: `audio`, shape `(batch, samples, 1)`, 16 kHz, in [-1, 1], of any length, with or
            without a mask. The model pads recordings shorter than 1.6 s with silence.
        Output: `(batch, units)`, vectors of length 1 without negative components.

    Args:
        weights: Path of a `.weights.h5` file with weights for the default sizes. By default, the
            weights are random.
        units: Number of units of each LSTM layer, which is also the length of the embedding.
        depth: Number of LSTM layers.
        bands: Number of mel bands (see `MelPower`).

    Returns:
        A `keras.Model` with 1.4 million weights.

    Raises:
        ValueError: If the file of weights does not exist.
    """
    if weights is not None and not pathlib.Path(weights).is_file():
        raise ValueError(
            f"The file of weights {str(weights)!r} does not exist. Create the file in a clone of "
            "the repository of keras-dml (see `python -m zoo.voice_ge2e_sim.convert --help`), or "
            "use weights=None for random weights."
        )
    window = keras.Input(((WINDOW - 1) * HOP + FRAME, 1), name="window")
    x = MelPower(bands, RATE_HZ, name="mel_power")(window)
    x = LastLSTM(units, depth, name="lstm")(x)
    x = keras.layers.Dense(units, activation="relu", name="projection")(x)
    network = keras.Model(window, x, name="of_a_window")
    audio = keras.Input((None, 1), name="audio")
    x = MinimumLevel(LEVEL, name="level")(audio)
    # As in librosa, frames are centered: the first frame begins half a frame before the recording.
    x = WindowedMean(network, STEP * HOP, REACH * HOP, FRAME // 2, name="embedding")(x)
    model = keras.Model(audio, x, name="ge2e")
    if weights is not None:
        model.load_weights(weights)
    return model
