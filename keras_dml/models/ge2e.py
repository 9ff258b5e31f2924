"""The voice encoder of the generalized end-to-end loss: embeddings of speakers from raw audio."""

import pathlib

from keras_dml._backend import keras
from keras_dml.layers.last_lstm import LastLSTM
from keras_dml.layers.mel_power import MelPower
from keras_dml.layers.minimum_level import MinimumLevel
from keras_dml.layers.windowed_mean import WindowedMean

RATE_HZ = 16000
LEVEL = 10 ** (-30 / 20)  # of full scale: -30 dB
HOP, FRAME = 160, 400  # samples
WINDOW, STEP, REACH = 160, 77, 120  # frames: 1.6 s, 1.3 windows a second, three quarters of one


def ge2e(weights=None, *, units=256, depth=3, bands=40):
    """The voice encoder of Wan2018 as Resemblyzer 0.1.4 has it, from raw audio.

    Recordings quieter than -30 dB are amplified to that level; mel bands of windows of 1.6 s; LSTM
    layers, of whose last only the last step counts; a linear layer with ReLU; unit vectors of the
    windows averaged, and scaled to length 1. `zoo/voice_ge2e_sim/convert.py` writes the file of
    Resemblyzer's weights, which were trained on thousands of speakers. Unlike Resemblyzer's
    `preprocess_wav` the model cuts out no silence.

    Functional model:
        Input: `audio`, shape `(batch, samples, 1)`, 16 kHz, in [-1, 1], of any length, with or
            without a mask. A recording shorter than 1.6 s is followed by silence.
        Output: `(batch, units)`, of length 1, no component negative.

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
            f"There is no file of weights {str(weights)!r}. Write it in a checkout of keras-dml "
            "(`python -m zoo.voice_ge2e_sim.convert --help`), or give weights=None for random ones."
        )
    window = keras.Input(((WINDOW - 1) * HOP + FRAME, 1), name="window")
    x = MelPower(bands, RATE_HZ, name="mel_power")(window)
    x = LastLSTM(units, depth, name="lstm")(x)
    x = keras.layers.Dense(units, activation="relu", name="projection")(x)
    network = keras.Model(window, x, name="of_a_window")
    audio = keras.Input((None, 1), name="audio")
    x = MinimumLevel(LEVEL, name="level")(audio)
    # librosa's frames are centered: the first begins half a frame before the recording
    x = WindowedMean(network, STEP * HOP, REACH * HOP, FRAME // 2, name="embedding")(x)
    model = keras.Model(audio, x, name="ge2e")
    if weights is not None:
        model.load_weights(weights)
    return model
