"""Computes embeddings with Resemblyzer, for `speakers.py` and `tests/parity/resemblyzer.py`.

Usage: `python speaker_peer.py SOUNDS.npz EMBEDDINGS.npy [whole]`. The script runs in an environment
with Resemblyzer, and imports only Resemblyzer and NumPy. `SOUNDS.npz` contains all recordings one
after another (`samples`, float32, 16 kHz) and the end of each recording (`ends`). Resemblyzer
removes silence from the recordings and sets their level. With the argument `whole`, Resemblyzer
sets the level but keeps the silence.
"""

import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")  # of the libraries below it

try:
    from resemblyzer import VoiceEncoder, preprocess_wav
    from resemblyzer.audio import normalize_volume
    from resemblyzer.hparams import audio_norm_target_dBFS
except ImportError as error:
    print(f"speaker_peer runs in an environment that has Resemblyzer. {error}", file=sys.stderr)
    raise SystemExit(77) from None  # `SKIPPED` of `smoke.py`, which is not importable there


def leveled(sound):
    return normalize_volume(sound, audio_norm_target_dBFS, increase_only=True)


def smoke():
    """Embeds two seconds of noise."""
    noise = np.random.default_rng(0).normal(scale=0.1, size=32_000).astype("float32")
    print(VoiceEncoder("cpu", verbose=False).embed_utterance(leveled(noise)).shape)


def main(sounds, embeddings, kept="speech"):
    with np.load(sounds) as arrays:
        recordings = np.split(arrays["samples"], arrays["ends"][:-1])
    encoder = VoiceEncoder("cpu", verbose=False)
    prepared = leveled if kept == "whole" else lambda sound: preprocess_wav(sound, source_sr=16_000)
    np.save(embeddings, np.stack([encoder.embed_utterance(prepared(each)) for each in recordings]))


if __name__ == "__main__":
    smoke() if sys.argv[1:] == ["--smoke"] else main(*sys.argv[1:])
