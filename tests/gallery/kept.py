"""Makes an encrypted gallery with kept recordings, without Keras."""

import contextlib

import numpy as np

from keras_dml import edge
from keras_dml import gallery as galleries

KEY = bytes(range(32))
MODEL = "gait_lda"
THRESHOLD = galleries.Threshold(
    *(0.01, -0.5, (0.0, 0.02), 0.9, (0.8, 1.0), 40, 1000, 300.0, 0.005, "counted"),
    confident=-0.6,
)


@contextlib.contextmanager
def gallery(path):
    """Yields a gallery of Alice that keeps a proposal for Alice and recordings of two strangers.

    The embeddings of different people are orthogonal. The proposal and one stranger's second
    recording differ by a small angle from an earlier recording.

    Args:
        path: Path of the new gallery.
    """
    with edge.Gallery(path, MODEL, key=KEY) as opened:
        size = opened._model.embedding_shape[0]
        z = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))[0].astype("float32")
        opened._records.set_threshold(THRESHOLD)
        opened._records.add("alice", z[:1], sources=[galleries.Source("2026-01-01")])
        opened.proposals.keep(30)
        opened.strangers.keep(7)
        opened.proposals.observe("alice", z[:1] + 0.1 * z[1:2], opened._templates())
        opened.strangers.observe(np.stack([z[2], z[2] + 0.1 * z[3], z[4]]))
        yield opened
