"""Embeddings of a pretrained speaker encoder. Run by `speakers.py` with the interpreter of its
environment.

Usage: `python speaker_peer.py SOUNDS.npz EMBEDDINGS.npy`. `SOUNDS.npz` holds all recordings one
after another (`samples`, float32, 16 kHz) and where each ends (`ends`). Imports Resemblyzer and
NumPy only; silence and level are what Resemblyzer's own preparation makes of them.
"""

import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")  # of the libraries below it

from resemblyzer import VoiceEncoder, preprocess_wav  # noqa: E402


def main(sounds, embeddings):
    with np.load(sounds) as given:
        recordings = np.split(given["samples"], given["ends"][:-1])
    encoder = VoiceEncoder("cpu", verbose=False)
    rows = [
        encoder.embed_utterance(preprocess_wav(sound, source_sr=16_000)) for sound in recordings
    ]
    np.save(embeddings, np.stack(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
