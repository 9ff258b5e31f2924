"""Measures the time of learned similarities and prototypical classifiers.

Learned similarities of many prototypes are compared with the matrix products that they need. A
training step of a prototypical classifier is compared with a step of the same network with softmax.

python -m tests.bench.prototypes
"""

import numpy as np

from tests.bench import memory, smoke, timing

N, CLASSES, FEATURES, HIDDEN = 256, 10_000, 256, 512
MEGABYTES = 150
TRAINED_CLASSES, BATCH, SIDE = 100, 64, 32
SMOKE = {"N": 4, "CLASSES": 5, "FEATURES": 3, "HIDDEN": 4, "BATCH": 4, "repeats": 5}
PRODUCTS, OURS = "the matrix products alone", "similarity"
SOFTMAX, STEP = "wide residual network, softmax", "prototypical classifier"
TABLES = (
    timing.Row(PRODUCTS),
    timing.Row(OURS, PRODUCTS, 1.3),
)
STEPS = (timing.Row(SOFTMAX), timing.Row(STEP, SOFTMAX, 1.2))


def tables():
    """Returns two candidates: one computes all similarities, and the other computes only the matrix
    products.
    """
    import tensorflow as tf

    from keras_dml.geometry import similarity
    from keras_dml.layers import LearnedSimilarity

    rng = np.random.default_rng(0)
    x, y = (tf.constant(rng.normal(size=(rows, FEATURES)), tf.float32) for rows in (N, CLASSES))
    layer = LearnedSimilarity(hidden=(HIDDEN,))
    layer.build(x.shape, y.shape)
    kernel, last = (tf.convert_to_tensor(weight) for weight in layer.kernels)
    pairs = max(1, similarity.BLOCK_BYTES // (4 * HIDDEN))
    units = tf.constant(rng.normal(size=(pairs, HIDDEN)), tf.float32)
    blocks = -(-N * CLASSES // pairs)

    @tf.function(autograph=False)
    def products():
        left, right = x @ kernel[:FEATURES], y @ kernel[FEATURES:]
        moved = tf.reduce_sum(left) * 1e-30  # no product is the same as the one before
        answers = tf.map_fn(
            lambda i: tf.matmul(units, last + moved * i),
            tf.range(blocks, dtype=tf.float32),
        )
        return tf.reduce_sum(right), answers

    layer(x, y)  # compiles the function
    grown, _ = memory.growth_megabytes(lambda: layer(x, y).numpy())
    verdict = timing.verdict(grown, MEGABYTES)
    print(f"\nextra memory of {N} x {CLASSES:,}: {grown:.0f} MB of {MEGABYTES} allowed, {verdict}")
    return {
        PRODUCTS: timing.timed(lambda: products()[1].numpy()),
        OURS: timing.timed(lambda: layer(x, y).numpy()),
    }


def steps():
    """Returns candidates that take one training step of each network."""
    import keras

    from keras_dml.models import PrototypicalClassifier, wide_resnet

    rng = np.random.default_rng(0)
    x = rng.random((BATCH, SIDE, SIDE, 3), np.float32)
    labels = rng.permutation(np.repeat(np.arange(TRAINED_CLASSES), 5))[:BATCH]
    encoder = wide_resnet(depth=10, width=2)
    plain = keras.Sequential([encoder, keras.layers.Dense(TRAINED_CLASSES)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    plain.compile("sgd", loss, jit_compile=False)
    ours = PrototypicalClassifier(wide_resnet(depth=10, width=2), TRAINED_CLASSES)
    ours.compile("sgd", jit_compile=False)
    return {
        SOFTMAX: timing.timed(lambda: plain.train_on_batch(x, labels)),
        STEP: timing.timed(lambda: ours.train_on_batch(x, labels)),
    }


def main():
    options = timing.parser(__doc__.splitlines()[0], 9)
    arguments = smoke.parse(options, globals(), SMOKE)
    seconds = timing.alternate(tables(), arguments.repeats)
    timing.show(f"{N} embeddings of {FEATURES} against {CLASSES:,} prototypes", TABLES, seconds)
    seconds = timing.alternate(steps(), arguments.repeats)
    timing.show(f"Training step, {BATCH} images, {TRAINED_CLASSES} classes", STEPS, seconds)


if __name__ == "__main__":
    main()
