"""Embeddings of a pretrained speaker encoder. Run by `speakers.py`, and by
`tests/parity/resemblyzer.py`, with the interpreter of its environment.

Usage: `python speaker_peer.py SOUNDS.npz EMBEDDINGS.npy [whole]`. `SOUNDS.npz` holds all recordings
one after another (`samples`, float32, 16 kHz) and where each ends (`ends`). Imports Resemblyzer and
NumPy only; silence and level are what Resemblyzer's own preparation makes of them. With `whole` the
level alone is prepared, and no silence is cut out.
"""

import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")  # of the libraries below it

from resemblyzer import VoiceEncoder, preprocess_wav  # noqa: E402
from resemblyzer.audio import normalize_volume  # noqa: E402
from resemblyzer.hparams import audio_norm_target_dBFS  # noqa: E402


def leveled(sound):
    return normalize_volume(sound, audio_norm_target_dBFS, increase_only=True)


def main(sounds, embeddings, kept="speech"):
    with np.load(sounds) as given:
        recordings = np.split(given["samples"], given["ends"][:-1])
    encoder = VoiceEncoder("cpu", verbose=False)
    prepared = leveled if kept == "whole" else lambda sound: preprocess_wav(sound, source_sr=16_000)
    np.save(embeddings, np.stack([encoder.embed_utterance(prepared(each)) for each in recordings]))


if __name__ == "__main__":
    main(*sys.argv[1:])
