"""Takes a training step with every loss and every model, on several devices and on one device.

The losses of pairs are in `one_step.py`. The prototypical classifier is in `prototype_step.py`: for
this model, the expected step is not a step on the mean of two losses.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from keras_dml import layers, losses, models
from keras_dml._backend import keras

RATE, CHANNELS = 0.1, 3
# The second half has no rows of one class, one row of another class, and a pair of a class that has
# no pair in the first half.
LABELS = np.array([0, 0, 1, 1, 2, 2, 2, 1])
PAIRS = np.repeat(np.arange(4), 2)


@dataclasses.dataclass(frozen=True)
class Case:
    """Test case with a model that is not compiled, its loss, and its batch."""

    build: Callable
    loss: Callable
    shape: tuple = (4,)
    pairs: bool = False  # whether each label occurs twice in each half
    # key of `STATES` for the statistics after a step of two replicas. None: the model has no
    # statistics
    state: str | None = None


# Functions that return the statistics after a step of two replicas. Their arguments are the
# statistics after a step on the first half, on the second half, and on the whole batch on one
# device.
STATES = {
    "first": lambda first, second, whole: first,
    "mean": lambda first, second, whole: (first + second) / 2,
    "one device": lambda first, second, whole: whole,
}


def vectors():
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="tanh")])


def in_chunks():
    """Wraps a model in GradCache with chunks of three rows. The last chunk of a batch has fewer
    rows.
    """
    stack = [keras.layers.Dense(3), keras.layers.BatchNormalization(momentum=0.5)]
    return models.GradCache(keras.Sequential([keras.Input((4,)), *stack]), 3)


def exact_vectors():
    """Draws vectors that floats represent exactly, because rounding errors would change a hash."""
    return keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(4, kernel_initializer="identity")]
    )


def quantiles():
    signal = keras.Input((12, CHANNELS))
    return keras.Sequential([signal, layers.MaskedConv1D(3, 3), layers.QuantileLayer(3)])


def proxies():
    return keras.Sequential([vectors(), layers.Proxies(3)])


def matrices(*more):
    head = [layers.ReEig(0.01), keras.layers.Rescaling(1.0)]  # `Rescaling` allows any distance
    return keras.Sequential([keras.Input((4, 4)), layers.BiMap(3), *more, *head])


def normalized_matrices():
    return matrices(layers.RiemannianBatchNormalization(0.5))


def potatoes():
    encoder = models.spdnet((4, 2), output="spd")
    network = models.PotatoNetwork(encoder, classes=3, update_rate=0.1)
    x = some((12, 4, 4))
    network.calibrate(x, np.arange(12) % 3)
    return network


def classifier():
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="tanh")])
    return models.PrototypicalClassifier(encoder, 3, hidden=4, dropout=0.0)


def adversarial(method):
    return lambda: models.AdversarialTraining(classifier(), method, epsilon=0.1, steps=2, seed=3)


def triplet(mining, **options):
    return lambda: losses.TripletLoss(1.0, mining, **options)


def inner_products():
    return losses.NPairLoss("inner")


def spd(loss, distance):
    return Case(matrices, lambda: loss(1.0, distance=distance), (4, 4))


def image_case(build, **options):
    return Case(build, triplet("all"), IMAGE, **options)


SIGNAL, IMAGE = (24, CHANNELS), (16, 16, 1)
SOUND, LONG_SOUND = (3000, 1), (27000, 1)  # longer than one window of 1.6 s at 16 kHz
CASES = {
    "contrastive": Case(vectors, losses.ContrastiveLoss),
    "contrastive of quantiles": Case(
        quantiles, lambda: losses.ContrastiveLoss(distance="wasserstein"), (12, CHANNELS)
    ),
    "triplet all": Case(vectors, triplet("all")),
    "triplet random": Case(exact_vectors, triplet("random")),
    "triplet semi-hard": Case(vectors, triplet("semi_hard")),
    "triplet hard": Case(vectors, triplet("hard")),
    "lifted": Case(vectors, lambda: losses.LiftedStructureLoss(distance="cosine")),
    "DSML": Case(vectors, losses.DSMLTripletLoss),
    "proxy NCA": Case(proxies, losses.ProxyNCALoss),
    "affine-invariant": spd(losses.ContrastiveLoss, "affine_invariant"),
    "Stein": spd(losses.LiftedStructureLoss, "stein"),
    "potatoes": Case(potatoes, lambda: losses.PotatoRankingLoss(0.5), (4, 4), state="one device"),
    "Riemannian normalization": Case(
        normalized_matrices,
        lambda: losses.ContrastiveLoss(distance="log_euclidean"),
        (4, 4),
        state="mean",
    ),
    "spdnet": Case(lambda: models.spdnet((4, 3, 2)), inner_products, (4, 4), pairs=True),
    "sequence encoder": Case(
        lambda: models.sequence_encoder(CHANNELS, knots=3, halvings=3, halve_every=1),
        losses.WassersteinLoss,
        SIGNAL,
        pairs=True,
        state="first",
    ),
    "xvector": Case(
        lambda: models.xvector([(6, 5, 1), (5, 3, 2)], embedding=4, bands=8),
        losses.NPairLoss,
        SOUND,
        pairs=True,
        state="first",
    ),
    "ge2e": Case(
        lambda: models.ge2e(units=8, depth=1, bands=8), losses.NPairLoss, LONG_SOUND, pairs=True
    ),
    "conv4": image_case(lambda: models.conv4(IMAGE, width=2, embedding=3), state="first"),
    "lenet": image_case(lambda: models.lenet(IMAGE, embedding=3)),
    "thresholding_cnn": image_case(
        lambda: models.thresholding_cnn(IMAGE, width=2, embedding=3, gray_band=0.2)
    ),
    "resnet12": image_case(
        lambda: models.resnet12(IMAGE, widths=(2, 3), dropout=0.0), state="first"
    ),
    "wide_resnet": image_case(
        lambda: models.wide_resnet(10, 1, IMAGE, dropout=0.0, mean=0.5, stddev=0.5), state="first"
    ),
    "eye velocity": Case(
        lambda: models.eye_velocity_part("slow", 512, 3, narrower=32),
        keras.losses.SparseCategoricalCrossentropy,
        (512, 2),
        state="first",
    ),
    "in chunks": Case(in_chunks, triplet("hard"), state="first"),
    **{
        f"adversarial {method}": Case(adversarial(method), lambda: None)
        for method in ("at", "alp", "tla", "trades")
    },
}


def some(shape):
    """Draws rows in [0, 1] (the range of attacks), positive definite matrices, or audio."""
    rng = np.random.default_rng(6)
    if shape[1:] in (SOUND, LONG_SOUND):
        return rng.normal(scale=0.1, size=shape).astype("float32")
    x = rng.random(shape)
    if shape[-1] == shape[-2]:
        x = x @ np.swapaxes(x, -1, -2) + 0.1 * np.eye(shape[-1])
    return x.astype("float32")


def batch(case):
    y = PAIRS if case.pairs else LABELS
    return some((len(y), *case.shape)), y


def compiled(case):
    keras.utils.set_random_seed(6)
    model = case.build()
    model.compile(keras.optimizers.SGD(RATE), case.loss())
    return model


def lists(weights):
    return [np.asarray(keras.ops.convert_to_numpy(weight)).tolist() for weight in weights]


def after_a_step(case, model):
    """Returns the weights and statistics after a step, the reported loss, and the largest change of
    a weight.
    """
    (x, y), before = batch(case), [np.array(weight) for weight in lists(model.trainable_weights)]
    reported = model.fit(x, y, batch_size=len(x), shuffle=False, verbose=0).history["loss"][0]
    after = lists(model.trainable_weights)
    moved = max(np.abs(new - old).max() for new, old in zip(after, before, strict=True))
    state = lists(model.non_trainable_weights) if case.state else []
    return {"trained": after, "state": state, "loss": reported, "moved": float(moved)}


def averaging_step(case):
    """Takes a step on one device. The loss is the mean of the losses of the two halves of the
    batch.
    """
    import tensorflow as tf

    model, (x, y) = compiled(case), batch(case)
    half, before = len(x) // 2, model.get_weights()
    values, gradients, states = [], [], []
    for part in (slice(half), slice(half, None)):
        model.set_weights(before)
        data = x[part], y[part]
        if isinstance(model, models.AdversarialTraining):
            data = model._join(data)
        with tf.GradientTape() as tape:
            value = model.compute_loss(*data, model(data[0], training=True), training=True)
        values.append(float(value))
        gradients.append(tape.gradient(value, model.trainable_weights))
        states.append([weight.numpy() for weight in model.non_trainable_weights])
    means = [(first + second) / 2 for first, second in zip(*gradients, strict=True)]
    model.optimizer.apply(means, model.trainable_weights)
    actual = {"trained": lists(model.trainable_weights), "state": [], "loss": sum(values) / 2}
    if case.state:
        whole = map(np.array, after_a_step(case, compiled(case))["state"])
        actual["state"] = lists(map(STATES[case.state], *states, whole))
    return actual


def on_devices():
    """Returns a dict that maps the name of each case to the state after a step on all devices."""
    return {name: after_a_step(case, compiled(case)) for name, case in CASES.items()}


def of_replicas(case, strategy):
    """Returns the states after a step on two replicas and the expected states."""
    with strategy.scope():
        replicated = compiled(case)
    return {"found": after_a_step(case, replicated), "expected": averaging_step(case)}


def on_replicas(strategy):
    """Returns, for each case, the state after a step on two replicas and the expected state."""
    return {name: of_replicas(case, strategy) for name, case in CASES.items()}
