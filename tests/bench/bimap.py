"""Compares three ways to keep the kernel of BiMap on the Stiefel manifold.

python -m tests.bench.bimap

The first way projects the kernel after each step to its polar factor, as the layer does. The second
way projects the kernel by QR. In the third way, the forward pass computes the kernel from an
unconstrained matrix. The script trains an SPD network from 64 to 16 channels on synthetic classes
by Adam, and measures the time of a training step. After a fixed number of training steps, the
script prints the distance of the kernel from the manifold, the loss, and the accuracy on new
matrices.
"""

import numpy as np

from tests.bench import smoke, timing

N, UNITS, CLASSES, BATCH, LEARNING_RATE = 64, 16, 8, 64, 1e-2
PUT_BACK, BY_QR, FREE = "polar factor after each step", "QR after each step", "polar factor within"
SMOKE = {"N": 6, "UNITS": 3, "BATCH": 4, "steps": 40, "repeats": 5}
ROWS = (timing.Row(PUT_BACK), timing.Row(BY_QR, PUT_BACK), timing.Row(FREE, PUT_BACK))


def examples(count, seed):
    """Draws labeled covariance matrices, each of a recording with 200 time steps. Classes have
    different directions of large variance, and the same noise.
    """
    shared, rng = np.random.default_rng(0), np.random.default_rng(seed)
    mixing = shared.normal(size=(CLASSES, N, 4)) * 0.12
    y = rng.integers(CLASSES, size=count)
    x = rng.normal(size=(count, 200, N))
    x += np.einsum("cnk,ctk->ctn", mixing[y], rng.normal(size=(count, 200, 4)))
    return (np.swapaxes(x, 1, 2) @ x / 200).astype("float32"), y


def network(way):
    """Returns the compiled network and a function that returns the kernel of its BiMap."""
    from keras_dml._backend import keras
    from keras_dml.geometry import spd
    from keras_dml.geometry.spd import stiefel
    from keras_dml.layers import BiMap, LogEig, TangentVector

    class Qr(keras.constraints.Constraint):
        def __call__(self, w):
            return stiefel.qr(w)

    class Within(BiMap):
        """BiMap with an unconstrained kernel. The layer uses the kernel's polar factor, which has
        orthonormal columns.
        """

        def build(self, input_shape):
            super().build(input_shape)
            self.kernel.constraint = None

        def call(self, inputs):
            frame = stiefel.polar(self.kernel)
            return spd.symmetric(keras.ops.transpose(frame) @ inputs @ frame)

    keras.utils.set_random_seed(0)
    layer = (Within if way == FREE else BiMap)(UNITS)
    head = keras.layers.Dense(CLASSES)
    model = keras.Sequential([keras.Input((N, N)), layer, LogEig(), TangentVector(), head])
    if way == BY_QR:
        layer.kernel.constraint = Qr()
    model.compile(
        keras.optimizers.Adam(LEARNING_RATE),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=False,
    )
    frame = (lambda: stiefel.polar(layer.kernel)) if way == FREE else (lambda: layer.kernel)
    return model, lambda: np.asarray(keras.ops.convert_to_numpy(frame()))


def main():
    options = timing.parser(__doc__.splitlines()[0], 15)
    options.add_argument("--steps", type=int, default=1000, help="training steps (default 1000)")
    options.add_argument("--cpu-time", action="store_true", help="processor time of one thread")
    arguments = smoke.parse(options, globals(), SMOKE)
    if arguments.cpu_time:
        timing.one_thread()
    (x, y), (new, truth) = examples(40 * BATCH, 1), examples(2000, 2)
    made = {row.name: network(row.name) for row in ROWS}
    batch = x[:BATCH], y[:BATCH]
    steps = {
        way: timing.timed(lambda model=model: model.train_on_batch(*batch), arguments.cpu_time)
        for way, (model, _) in made.items()
    }
    seconds = timing.alternate(steps, arguments.repeats)
    timing.show(f"a training step, {N} -> {UNITS}, {BATCH} matrices", ROWS, seconds)
    print(f"\n{f'after {arguments.steps} steps':<32} {'|WW - 1|':>9} {'loss':>8} {'right':>7}")
    for way in made:
        model, frame = network(way)
        history = model.fit(
            x, y, BATCH, epochs=arguments.steps * BATCH // len(x), verbose=0
        ).history
        w, (_, right) = frame(), model.evaluate(new, truth, 500, verbose=0)
        off = np.abs(w.T @ w - np.eye(UNITS)).max()
        print(f"{way:<32} {off:>9.1e} {history['loss'][-1]:>8.4f} {100 * right:>5.1f} %")


if __name__ == "__main__":
    main()
