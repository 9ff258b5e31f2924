"""Converts the weights of Resemblyzer's voice encoder to a file for Keras.

Resemblyzer 0.1.4 contains the weights as a pickle file of PyTorch. The command `read` writes the
weights to an `.npz` file, in an environment with PyTorch. The command `convert` reads the `.npz`
file in an environment with Keras:

    python -m venv .venv-torch
    .venv-torch/bin/pip install typer torch librosa webrtcvad-wheels
    .venv-torch/bin/pip install --no-deps resemblyzer==0.1.4
    .venv-torch/bin/python -m zoo.voice_ge2e_sim.convert read build/ge2e.npz
    python -m zoo.voice_ge2e_sim.convert convert build/ge2e.npz build/ge2e.weights.h5

Resemblyzer and its weights are under the Apache license 2.0. `tests/parity/resemblyzer.py` compares
the original network and the network in Keras on recordings.
"""

import pathlib
import warnings

import numpy as np
import typer

from zoo import converted

SHA256 = "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e"
RATE_HZ = 16_000
SECONDS = (0.7, 1.6, 2.9, 4.0)  # windows: 1, 1, 3, 4
BOUND = 1e-4

HELP = __doc__.replace("\n\n    python", "\n\n\b\n    python")  # keeps the commands' lines

app = typer.Typer(help=HELP, add_completion=False, rich_markup_mode=None)


@app.command()
def read(out: converted.ToRead):
    """Reads the published weights, and computes embeddings of test sounds with the original
    network.
    """
    warnings.simplefilter("ignore")  # of the libraries below Resemblyzer
    import resemblyzer
    from resemblyzer import audio, hparams

    path = pathlib.Path(resemblyzer.__file__).with_name("pretrained.pt")
    converted.check(path, SHA256)
    encoder = resemblyzer.VoiceEncoder("cpu", verbose=False)
    rows = []
    for sound in sounds():
        louder = audio.normalize_volume(sound, hparams.audio_norm_target_dBFS, increase_only=True)
        rows.append(encoder.embed_utterance(louder))
    converted.keep(out, encoder.state_dict(), embeddings=np.stack(rows))


@app.command()
def convert(source: converted.Read, out: converted.Weights):
    """Writes the weights for Keras if the network in Keras agrees with the original network."""
    from keras_dml import embed, models

    weights, original = converted.arrays(source)
    model = models.ge2e()
    take(model, weights)
    embeddings = embed(model, [sound[:, None] for sound in sounds()], progress=False)
    converted.save(model, out, {"embeddings": (embeddings, original["embeddings"])}, BOUND)


def sounds():
    """Yields test sounds, float32 in [-1, 1]. Each sound is a buzz with falling pitch, mixed with
    noise. The sounds are the same on all machines.
    """
    rng = np.random.default_rng(0)
    for seconds in SECONDS:
        time = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
        pulses = np.sin(2 * np.pi * 140 * time * (1 - time / 20)) ** 15
        envelope = 0.5 - 0.5 * np.cos(2 * np.pi * 3 * time)
        sound = envelope * pulses + 0.02 * rng.standard_normal(len(time))
        yield (0.1 * sound).astype(np.float32)


def take(model, weights):
    """Copies arrays of PyTorch into the corresponding layers of a Keras model, such as
    `lstm.weight_ih_l0` into the first kernel of the LSTM.

    Raises:
        ValueError: If an array does not belong to any layer.
    """
    used = {"similarity_weight", "similarity_bias"}  # of the loss
    network = model.get_layer("embedding").network
    lstm, projection = network.get_layer("lstm"), network.get_layer("projection")
    arrays = []
    for i in range(lstm.depth):
        names = [f"lstm.{part}_l{i}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        kernel, recurrent, *biases = (weights[name] for name in names)
        arrays += [kernel.T, recurrent.T, sum(biases)]  # gates in the same order
        used.update(names)
    lstm.set_weights(arrays)
    projection.set_weights([weights["linear.weight"].T, weights["linear.bias"]])
    if left := weights.keys() - used - {"linear.weight", "linear.bias"}:
        raise ValueError(f"The network has no layer for the weights {sorted(left)}.")


if __name__ == "__main__":
    app()
