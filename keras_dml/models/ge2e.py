"""The voice encoder of the GE2E loss: embeddings of speakers (d-vectors) from raw audio."""

import pathlib

from keras_dml._backend import keras
from keras_dml._typing import Path
from keras_dml.layers.last_lstm import LastLSTM
from keras_dml.layers.mel_power import MelPower
from keras_dml.layers.minimum_level import MinimumLevel
from keras_dml.layers.windowed_mean import WindowedMean

RATE_HZ = 16000
LEVEL = 10 ** (-30 / 20)  # -30 dB of full scale
HOP, FRAME = 160, 400  # samples
WINDOW, STEP, REACH = 160, 77, 120  # frames: 1.6 s; 1.3 windows per second; 3/4 of a window


def ge2e(
    weights: Path | None = None, *, units: int = 256, depth: int = 3, bands: int = 40
) -> keras.Model:
    """Builds the voice encoder of Wan2018 as implemented in Resemblyzer 0.1.4, from raw audio
    (generalized end-to-end loss, GE2E; d-vectors).

    The model amplifies recordings that are quieter than -30 dB to this level. It computes mel bands
    of windows of 1.6 s and applies LSTM layers, whose last step enters a linear layer with ReLU.
    The embedding is the mean of the windows' unit vectors, scaled to length 1.
    `zoo/voice_ge2e_sim/convert.py` writes the file of Resemblyzer's weights, which were trained on
    thousands of speakers. In contrast to Resemblyzer's `preprocess_wav` the model does not remove
    silence.

    Functional model:
        Input: `audio`, shape `(batch, samples, 1)`, 16 kHz, in [-1, 1], of any length, with or
            without a mask. The model pads recordings shorter than 1.6 s with silence.
        Output: `(batch, units)`, vectors of length 1 without negative components.

    Args:
        weights: Path of a `.weights.h5` file of the network with the default sizes; None: random.
        units: Units of each LSTM layer, and of the embedding.
        depth: Number of LSTM layers.
        bands: Mel bands of `MelPower`.

    Returns:
        A `keras.Model`; 1.4 million weights.

    Raises:
        ValueError: If the weights' file does not exist.
    """
    if weights is not None and not pathlib.Path(weights).is_file():
        raise ValueError(
            f"The file of weights {str(weights)!r} does not exist. Write it in a checkout of "
            "keras-dml (`python -m zoo.voice_ge2e_sim.convert --help`), or use weights=None for "
            "random weights."
        )
    window = keras.Input(((WINDOW - 1) * HOP + FRAME, 1), name="window")
    x = MelPower(bands, RATE_HZ, name="mel_power")(window)
    x = LastLSTM(units, depth, name="lstm")(x)
    x = keras.layers.Dense(units, activation="relu", name="projection")(x)
    network = keras.Model(window, x, name="of_a_window")
    audio = keras.Input((None, 1), name="audio")
    x = MinimumLevel(LEVEL, name="level")(audio)
    # librosa centers its frames: the first frame begins half a frame before the recording
    x = WindowedMean(network, STEP * HOP, REACH * HOP, FRAME // 2, name="embedding")(x)
    model = keras.Model(audio, x, name="ge2e")
    if weights is not None:
        model.load_weights(weights)
    return model
