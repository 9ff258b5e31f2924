"""Calls TensorFlow Similarity and prints values and gradients as JSON, for `tfsim.py`.

The script runs in the environment of TensorFlow Similarity (Keras 2), and never in the environment
of the tests.
"""

import contextlib
import json
import sys

import numpy as np
import tensorflow as tf

with contextlib.redirect_stdout(sys.stderr):
    import tensorflow_similarity as tfsim
    from tensorflow_similarity import losses, samplers

ABOUT = (
    "Values of TensorFlow Similarity in float32, made by tests/parity/tfsim.py, in the form of "
    "tfa.json. `value` is the mean over the batch; of a sampler the shape of a batch, its number "
    "of classes, and the numbers of rows that its classes have."
)
ROWS, CLASSES = 24, 6  # numbers of rows and classes in the data from which samplers draw


def arrays():
    """Draws the inputs, and returns a dict from their names to the inputs. If the order of the
    draws changes, the values in the golden file change.
    """
    rng = np.random.default_rng(20240601)

    def unit(*shape):
        x = rng.normal(size=shape)
        return (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype("float32")

    return {
        "emb12": unit(12, 6),
        "lab12": rng.permutation(np.repeat(np.arange(4), 3)),
        "lab12_pairs": rng.permutation(np.repeat(np.arange(6), 2)),
        "anchor6": unit(6, 5),
        "positive6": unit(6, 5),
    }


def plain(array):
    """Converts a float32 array to nested lists of numbers with all their digits."""
    numbers = [float(f"{number:.9g}") for number in np.asarray(array).ravel()]
    return np.reshape(numbers, np.shape(array)).tolist()


def triplets(inputs):
    """Computes cases of the mining strategies that have a counterpart in keras-dml."""
    for labels, strategies in (
        ("lab12", ("hard", "hard")),
        ("lab12_pairs", ("hard", "hard")),
        ("lab12_pairs", ("hard", "semi-hard")),
    ):
        for distance in ("cosine", "euclidean", "squared_euclidean"):
            for margin in (1.0, 0.2, None):
                positive, negative = strategies
                args = {
                    "distance": distance,
                    "positive_mining_strategy": positive,
                    "negative_mining_strategy": negative,
                    "margin": margin,
                }
                loss = losses.TripletLoss(**args)
                x = tf.constant(inputs["emb12"])
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    value = loss(tf.constant(inputs[labels], "int32"), x)
                yield {
                    "fn": "tfsim.losses.TripletLoss",
                    "inputs": {"y_true": labels, "y_pred": "emb12"},
                    "args": args,
                    "value": float(value),
                    "grad": {"y_pred": plain(tape.gradient(value, x))},
                }


def ranked(inputs):
    for scale in (1.0, 20.0):
        a, p = (tf.constant(inputs[name]) for name in ("anchor6", "positive6"))
        with tf.GradientTape() as tape:
            tape.watch([a, p])
            value = losses.MultiNegativesRankLoss(scale=scale)(a, p)
        slopes = tape.gradient(value, [a, p])
        yield {
            "fn": "tfsim.losses.MultiNegativesRankLoss",
            "inputs": {"query_emb": "anchor6", "key_emb": "positive6"},
            "args": {"scale": scale},
            "value": float(value),
            "grad": {
                key: plain(slope)
                for key, slope in zip(("query_emb", "key_emb"), slopes, strict=True)
            },
        }


def batches():
    """Computes the shape and the classes of batches that have several examples per class."""
    x = np.arange(ROWS * 2, dtype="float32").reshape(ROWS, 2)
    y = np.repeat(np.arange(CLASSES), ROWS // CLASSES)
    for classes, examples in ((3, 4), (4, 2)):
        sampler = samplers.MultiShotMemorySampler(
            x, y, classes_per_batch=classes, examples_per_class_per_batch=examples
        )
        rows, labels = sampler[0]
        valid, counts = np.unique(np.asarray(labels), return_counts=True)
        yield {
            "fn": "tfsim.samplers.MultiShotMemorySampler",
            "inputs": {},
            "args": {"classes_per_batch": classes, "examples_per_class_per_batch": examples},
            "value": {
                "shape": list(np.asarray(rows).shape),
                "classes": len(valid),
                "rows": sorted(set(counts.tolist())),
            },
        }


def main():
    inputs = arrays()
    with contextlib.redirect_stdout(sys.stderr):
        cases = [*triplets(inputs), *ranked(inputs), *batches()]
    document = {
        "about": ABOUT,
        "versions": {"tensorflow": tf.__version__, "tensorflow-similarity": tfsim.__version__},
        "inputs": {name: plain(array) for name, array in inputs.items()},
        "cases": cases,
    }
    print(json.dumps(document, indent=None, separators=(",", ":")))


if __name__ == "__main__":
    main()
