"""Attempts with labels of any type, range and shape in losses, `fit` and classifiers."""

import functools

import numpy as np

from keras_dml import losses, models
from keras_dml._backend import keras, ops
from tests.hostile import draws
from tests.hostile.checks import same, settle

ROWS, CLASSES = 6, 3
LOSSES = {  # loss and shape of the inputs; the last two losses have fixed classes
    "contrastive": (losses.ContrastiveLoss, (5,)),
    "dsml": (losses.DSMLTripletLoss, (5,)),
    "lifted_structure": (losses.LiftedStructureLoss, (5,)),
    "n_pair": (losses.NPairLoss, (5,)),
    "triplet": (losses.TripletLoss, (5,)),
    "wasserstein": (losses.WassersteinLoss, (3, 4)),
    "proxy_nca": (losses.ProxyNCALoss, (CLASSES,)),
    "potato": (lambda: losses.PotatoRankingLoss(0.0), (CLASSES,)),
}
OF_PAIRS, OF_CLASSES = ("n_pair", "wasserstein"), ("proxy_nca", "potato", "classifier")
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
LARGEST = 2**31 - 1
OF_FLOATS = {"f2": 2**11 - 1, "f4": 2**24 - 1, "f8": 2**24 - 1}  # `fit` converts float64 to float32
RTOL = 1e-5


def _pairs(rng):
    """Returns int32 ids. Each id appears twice."""
    return rng.permutation(np.repeat(np.arange(CLASSES), 2)).astype("i4")


def _predictions(rng, shape):
    """Returns vectors, or quantile embeddings with the knots in the last row."""
    x = rng.normal(size=(ROWS, *shape)).astype("f4")
    if len(shape) == 2:
        x = np.sort(x, axis=-1)
        x[:, -1] = np.linspace(0, 1, shape[-1])
    return x


def _sound(rng, ids, dense):
    """Returns valid labels of the same classes, with other numbers and a random type."""
    dtype = draws.draw(rng, (*INTEGERS, "f2", "f4", "f8"))
    most = min(LARGEST, np.iinfo(dtype).max if dtype[0] in "iu" else OF_FLOATS[dtype])
    names = np.arange(CLASSES) if dense else np.array([0, most // 2, most])
    labels = names[ids].astype(dtype)
    form = rng.integers(4)
    if form == 0:
        return labels.tolist()
    if form == 1:
        return labels[:, None]
    return ops.convert_to_tensor(labels) if form == 2 else labels


def _spoiled(rng, ids):
    """Returns invalid labels of any kind."""
    values = ids.astype("f4")
    values[rng.integers(ROWS)] = draws.draw(rng, (np.nan, np.inf, 0.5, -1, 2.0**24, 1e30))
    beyond = ids.astype("i8")
    beyond[rng.integers(ROWS)] = draws.draw(rng, (-1, 2**31, 2**32 + 1, 2**63 - 1))
    objects = ids.astype(object)
    objects[rng.integers(ROWS)] = draws.draw(rng, (None, "ann", [1]))
    kinds = [values, beyond, beyond.astype("u8"), objects, ids.astype("U4"), ids.astype("S4")]
    kinds += [ids.astype("M8[D]"), ids.astype("m8[s]"), ids.astype("c8"), np.eye(CLASSES)[ids]]
    kinds += [np.ma.masked_equal(ids, 1), ids[:, None, None], [f"p{one}" for one in ids]]
    kinds += [np.zeros(ROWS, [("a", "i4")]), ids[:4], ids[:0], None]
    return kinds[rng.integers(len(kinds))]


def _loss(rng):
    name = draws.draw(rng, list(LOSSES))
    make, shape = LOSSES[name]
    return name, make(), _predictions(rng, shape)


def sound(rng, folder):
    """Computes a loss with labels of any type, which must equal the loss with int32 labels."""
    name, loss, x = _loss(rng)
    ids = _pairs(rng)
    expected = ops.convert_to_numpy(loss(ids, x))
    labels = _sound(rng, ids, name in OF_CLASSES)
    return settle(
        lambda: ops.convert_to_numpy(loss(labels, x)),
        lambda found: same(found, expected, RTOL),
        refuses=False,
    )


def spoiled(rng, folder):
    """Computes a loss with invalid labels."""
    _, loss, x = _loss(rng)
    labels = _spoiled(rng, _pairs(rng))
    return settle(lambda: ops.convert_to_numpy(loss(labels, x)), refuses=True)


def no_pairs(rng, folder):
    """Computes losses that need pairs on batches without pairs, in eager mode."""
    make, shape = LOSSES[draws.draw(rng, OF_PAIRS)]
    x = _predictions(rng, shape)
    labels = _pairs(rng)
    labels[rng.integers(ROWS)] = 7
    return settle(lambda: make()(labels, x), refuses=True, names=("NPairSampler",))


class _Step:
    """Model that takes a training step from the same weights at each call."""

    def __init__(self, model, options, x):
        model.compile("sgd", **options)
        self.model, self.x = model, x
        self.before = [ops.convert_to_numpy(one) for one in model.variables]

    def __call__(self, labels):
        """Returns the loss and the weights after a training step with these labels."""
        for variable, value in zip(self.model.variables, self.before, strict=True):
            variable.assign(value)
        history = self.model.fit(self.x, labels, batch_size=ROWS, shuffle=False, verbose=0)
        return np.concatenate(
            [history.history["loss"], *(weight.ravel() for weight in self.model.get_weights())]
        )


@functools.cache
def _step(name, eager):
    keras.utils.set_random_seed(3)
    x = np.random.default_rng(3).random((ROWS, 4)).astype("f4")
    if name == "classifier":
        return _Step(_classifier(), {"run_eagerly": eager}, x)
    make, shape = LOSSES[name]
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(shape[0])])
    return _Step(model, {"loss": make(), "run_eagerly": eager}, x)


@functools.cache
def _refitted():
    """Returns a classifier for attempts with `refit_prototypes`.

    `refit_prototypes` adds weights to the classifier. Therefore `_Step` cannot use the same
    classifier.
    """
    keras.utils.set_random_seed(3)
    return _classifier()


def _classifier():
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    return models.PrototypicalClassifier(encoder, classes=CLASSES, hidden=4)


def fit_sound(rng, folder):
    """Trains with labels of any type. The weights after the step must equal the weights after a
    step with int32 labels.
    """
    eager = bool(rng.random() < 0.7)
    names = [name for name in LOSSES if name != "wasserstein"] if eager else ["n_pair"]
    name = draws.draw(rng, ["classifier", *names])
    step, ids = _step(name, eager), _pairs(rng)
    expected = step(ids)
    labels = _sound(rng, ids, name in OF_CLASSES)
    labels = np.array(labels) if isinstance(labels, list) else labels
    return settle(lambda: step(labels), lambda found: same(found, expected, RTOL), refuses=False)


def fit_spoiled(rng, folder):
    """Trains with invalid labels, which must cause an error without a change of the weights."""
    step, labels = _step("classifier", bool(rng.random() < 0.5)), _spoiled(rng, _pairs(rng))
    verdict = settle(lambda: step(labels), refuses=True)
    weights = [ops.convert_to_numpy(one) for one in step.model.variables]
    for found, expected in zip(weights, step.before, strict=True):
        np.testing.assert_array_equal(found, expected)
    return verdict


def _are_names(labels, names):
    """Returns whether all labels are names of classes."""
    if getattr(labels, "dtype", np.dtype("O")).kind not in "SU":
        return False
    return set(labels.astype("U").tolist()) <= set(names)


def classes(rng, folder):
    """Computes new prototypes of a classifier from labels of any type."""
    model = _refitted()
    x, ids = _step("classifier", True).x, _pairs(rng)
    bad = rng.random() < 0.6
    labels = _spoiled(rng, ids) if bad else _sound(rng, ids, True)
    bad = bad and not _are_names(labels, model.class_names)
    embeddings = np.asarray(ops.convert_to_numpy(model.embed(x)))
    before = model.prototypes

    def check(_):
        means = [embeddings[ids == one].mean(axis=0) for one in range(CLASSES)]
        same(model.prototypes, means, RTOL)

    verdict = settle(lambda: model.refit_prototypes(x, labels), check, refuses=bool(bad))
    if bad:
        np.testing.assert_array_equal(model.prototypes, before)
    return verdict


def classify(rng, folder):
    """Classifies inputs with an invalid number, which must cause an error."""
    step = _step("classifier", True)
    x = step.x.copy()
    bad = rng.random() < 0.6
    if bad:
        x[tuple(rng.integers(x.shape))] = draws.draw(rng, (np.nan, np.inf))
        masked = np.ma.masked_greater(step.x, 0.5)
        x = draws.draw(rng, (x, x, masked, x.astype("c8"), x.astype("U8"), x[:0], x[:, :2]))

    def check(rows):
        scores = ops.convert_to_numpy(step.model(x, training=False))
        np.testing.assert_array_equal(rows, np.argmax(scores, axis=1))

    return settle(lambda: step.model.classify(x), check, refuses=bool(bad))


KINDS = {
    "sound labels": (60, sound),
    "spoiled labels": (80, spoiled),
    "no pairs": (10, no_pairs),
    "fit, sound": (20, fit_sound),
    "fit, spoiled": (20, fit_spoiled),
    "prototypes": (20, classes),
    "classify": (16, classify),
}
