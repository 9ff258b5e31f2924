"""Attempts to embed arrays of any dtype, shape and length with networks of random layers."""

import functools

import numpy as np

import keras_dml
from keras_dml import layers, potato
from keras_dml._backend import keras, ops
from tests.hostile import draws
from tests.hostile.checks import same, settle

CHANNELS = 3
SOUND = ("f2", "f4", "f8", ">f4", ">f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", "?")
ROUNDING = 1e-6  # absolute: the logarithm of a variance that is 1 is 0 up to rounding
RTOL = 1e-3  # tolerance for rounding, relative to the largest number


def _fully(x, model):
    return ops.convert_to_numpy(model(np.asarray(x, np.float32)[None], training=False))[0]


@functools.cache
def _models():
    """Returns small models whose embeddings are quantiles, statistics or tangent vectors."""
    keras.utils.set_random_seed(3)
    heads = {
        "quantile": [layers.QuantileLayer(4)],
        "statistics": [layers.StatisticsPooling(), keras.layers.Dense(4)],
        "covariance": [layers.Covariance("oas"), layers.LogEig(), layers.TangentVector()],
    }
    return {
        name: keras.Sequential([keras.Input((None, CHANNELS)), keras.layers.Dense(4), *head])
        for name, head in heads.items()
    }


def _sound(rng, steps):
    """Draws a valid recording of a random numeric type, as a list or as a NumPy array."""
    values = np.rint(np.clip(draws.recording(rng, steps) * 20 + 50, 0, 100))
    values = (values % 2 if rng.random() < 0.1 else values).astype(draws.draw(rng, SOUND))
    form = rng.integers(5)
    if form == 0:
        return values.tolist()
    if form == 1:
        return np.asfortranarray(values)
    if form == 2:
        return np.repeat(values, 2, axis=0)[::2]
    return np.ma.masked_array(values) if form == 3 else values


def _spoiled(rng, steps):
    """Draws an invalid recording."""
    values = draws.recording(rng, steps)
    place = tuple(rng.integers(values.shape))
    nan = values.copy()
    nan[place] = draws.draw(rng, (np.nan, np.inf, -np.inf))
    beyond = values.astype("f8")
    beyond[place] = draws.draw(rng, (1e39, -1e300))
    holes = np.ma.masked_array(values)
    holes[place] = np.ma.masked
    objects = values.astype(object)
    objects[place] = draws.draw(rng, (None, "1.0", [1], {}))
    fields = np.zeros((steps, CHANNELS), [("a", "f4"), ("b", "f4")])
    ragged = values.tolist()
    ragged[place[0]] = [1.0]
    kinds = [
        nan,
        beyond,
        holes,
        list(holes) if place[0] < steps else holes,
        objects,
        fields,
        ragged,
    ]
    kinds += [values.astype("c8"), values.astype("U8"), values.astype("S8"), None, "text", 3.0]
    kinds += [np.zeros(values.shape, "M8[s]"), np.zeros(values.shape, "m8[s]")]
    kinds += [values[:0], values[:, :2], values[None], values[:, 0], values[..., None], values.T]
    return kinds[rng.integers(len(kinds))]


def embed_sound(rng, folder):
    """Embeds recordings of any type and length. The embedding of a recording must not depend on the
    other recordings of its batch.
    """
    model = _models()[draws.draw(rng, list(_models()))]
    given = [_sound(rng, int(rng.integers(5, 40))) for _ in range(rng.integers(1, 6))]
    size = int(rng.integers(1, 5))
    return settle(
        lambda: keras_dml.embed(model, given, size, progress=False),
        lambda result: same(result, np.stack([_fully(x, model) for x in given]), RTOL),
        refuses=False,
    )


def embed_spoiled(rng, folder):
    """Embeds an invalid recording among valid recordings. The error must name the recording."""
    model = _models()[draws.draw(rng, list(_models()))]
    given = [_sound(rng, int(rng.integers(5, 40))) for _ in range(rng.integers(1, 5))]
    at = int(rng.integers(len(given)))
    given[at] = _spoiled(rng, int(rng.integers(5, 40)))
    call = lambda: keras_dml.embed(model, given, progress=False)  # noqa: E731
    return settle(call, refuses=True, names=(f"Recording {at}",))


def embed_extreme(rng, folder):
    """Embeds extreme numbers, single steps and constants. Embeddings must be finite."""
    model = _models()[draws.draw(rng, list(_models()))]
    steps = int(rng.integers(1, 9))
    scale = draws.draw(rng, (1e-45, 1e-30, 1e10, 1e20, 1e30, 3e38))
    signal = np.clip(draws.recording(rng, steps), -1, 1) * np.float32(scale)
    signal = np.full_like(signal, scale) if rng.random() < 0.3 else signal
    given = [draws.recording(rng, 12), signal]
    return settle(
        lambda: keras_dml.embed(model, given, progress=False),
        lambda result: same(result[1], _fully(signal, model), RTOL),
        names=("recording 1",),
    )


def arguments(rng, folder):
    """Calls `embed` with invalid arguments."""
    model = _models()["quantile"]
    sound = [draws.recording(rng, 9)]
    given = (
        (None, sound),
        (keras.Sequential([keras.layers.Dense(2)]), sound),
        (keras.layers.Dense(2), sound),
        (model, None),
        (model, []),
        (model, sound[0]),
        (model, 3),
        (model, {"a": sound[0]}),
        *((model, sound, size) for size in (0, -1, 2.0, True, None, "2", np.float32(2))),
    )
    return settle(lambda: keras_dml.embed(*given[rng.integers(len(given))]), refuses=True)


def distances(rng, folder):
    """Computes distances in blocks. The result must equal the distances that are computed pair by
    pair. Some of the inputs are invalid.
    """
    name = draws.draw(rng, ("quantile", "statistics"))
    model, metric = _models()[name], keras_dml.distances.Euclidean()
    metric = model if name == "quantile" else metric
    recordings = [draws.recording(rng, int(rng.integers(5, 20))) for _ in range(6)]
    x = keras_dml.embed(model, recordings, progress=False)
    y = x[int(rng.integers(5)) :]
    bad = rng.random() < 0.5
    if bad:
        nan = y.copy()
        nan[(0,) * y.ndim] = np.nan
        masked = np.ma.masked_array(y)
        masked[(0,) * y.ndim] = np.ma.masked
        kinds = [nan, masked, y.astype("c8"), y.astype("U8"), None, "text"]
        kinds += [y[:, :-1], y[..., :-1], y[:, ::-1]] if name == "quantile" else [y[:, :-1]]
        y = kinds[rng.integers(len(kinds))]
    most = int(draws.draw(rng, (1, 100, 1000, 2**26)))

    def check(matrix):
        pairs = [
            [keras_dml.distance(metric, x[i : i + 1], y[j : j + 1])[0, 0] for j in range(len(y))]
            for i in range(len(x))
        ]
        same(matrix, pairs, RTOL)

    call = lambda: keras_dml.distance(metric, x, y, max_bytes=most)  # noqa: E731
    return settle(call, check, refuses=bad)


def potatoes(rng, folder):
    """Scores matrices with a Riemannian potato (an outlier detector).

    The scores must equal the scores of single matrices. Invalid matrices get an infinite score or
    an error.
    """
    signals = rng.normal(size=(20, 30, CHANNELS))
    clean = np.einsum("nti,ntj->nij", signals, signals) / 30
    fitted = potato.Potato().fit(clean)
    x = clean[:5].copy()
    kind = rng.integers(8)
    if kind < 4:
        x[1] = (np.nan * x[1], 0 * x[1], -x[1], 1e300 * x[1])[kind]
    x = (x, x, x, x, np.ma.masked_less(x, 0.5), x.astype("c16"), x.astype("U8"), x[:, :2])[kind]

    def check(scores):
        alone = [fitted.transform(matrix[None])[0] for matrix in x]
        np.testing.assert_array_equal(scores, alone)
        assert not np.isnan(scores).any() and (scores[1] == np.inf) == (kind < 3)

    return settle(lambda: fitted.transform(x), check, refuses=bool(kind >= 4))


def _squeezed(x):
    gate = keras.layers.GlobalAveragePooling1D()(x)
    gate = keras.layers.Dense(x.shape[-1], activation="sigmoid")(gate)
    return keras.layers.Multiply()([x, keras.layers.Reshape((1, x.shape[-1]))(gate)])


def _attended(x):
    weights = keras.layers.Softmax(axis=1)(keras.layers.Dense(1)(x))
    return keras.layers.Multiply()([x, weights])


def _residual(x):
    return keras.layers.Add()([x, keras.layers.Dense(x.shape[-1], activation="tanh")(x)])


STACK = {
    "dense": lambda x: keras.layers.Dense(5, activation="relu")(x),
    "convolution": lambda x: keras.layers.Conv1D(5, 3, padding="same")(x),
    "causal": lambda x: keras.layers.Conv1D(4, 3, padding="causal", dilation_rate=2)(x),
    "masked convolution": lambda x: layers.MaskedConv1D(4, 3)(x),
    "masked pooling": lambda x: layers.MaskedAveragePooling1D(2)(x),
    "average pooling": lambda x: keras.layers.AveragePooling1D(2, padding="same")(x),
    "layer norm": lambda x: keras.layers.LayerNormalization()(x),
    "time norm": lambda x: keras.layers.LayerNormalization(axis=1, center=False, scale=False)(x),
    "group norm": lambda x: keras.layers.GroupNormalization(groups=1)(x),
    "batch norm": lambda x: keras.layers.BatchNormalization()(x),
    "standardization": lambda x: layers.InstanceStandardization()(x),
    "difference": lambda x: layers.FirstDifference()(x),
    "unit": lambda x: keras.layers.UnitNormalization(axis=1)(x),
    "masking": lambda x: keras.layers.Masking(0.0)(x),
    "squeeze": _squeezed,
    "attention": _attended,
    "self attention": lambda x: keras.layers.MultiHeadAttention(1, 3)(x, x),
    "residual": _residual,
    "recurrent": lambda x: keras.layers.SimpleRNN(4, return_sequences=True)(x),
    "both ways": lambda x: keras.layers.Bidirectional(
        keras.layers.SimpleRNN(2, return_sequences=True)
    )(x),
    "flip": lambda x: keras.layers.Rescaling(-1.0)(x),
}
HEADS = {
    "mean": lambda x: keras.layers.GlobalAveragePooling1D()(x),
    "max": lambda x: keras.layers.GlobalMaxPooling1D()(x),
    "quantile": lambda x: layers.QuantileLayer(4)(x),
    "statistics": lambda x: layers.StatisticsPooling()(x),
    "sequence": lambda x: layers.SequencePooling("mean")(x),
    "recurrent": lambda x: keras.layers.SimpleRNN(4)(x),
    "covariance": lambda x: layers.TangentVector()(layers.LogEig()(layers.Covariance("oas")(x))),
}


def networks(rng, folder):
    """Embeds recordings with a network of random layers. Padding must not change embeddings."""
    keras.utils.set_random_seed(int(rng.integers(2**31)))
    name, model = _network(rng)
    given = [draws.recording(rng, int(n)) for n in rng.integers(16, 60, rng.integers(2, 6))]
    given[0][-3:] = 0.0  # steps that look like padding
    alone = np.stack([_fully(one, model) for one in given])

    def check(found):
        try:
            same(found, alone, RTOL, ROUNDING)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error

    return settle(lambda: keras_dml.embed(model, given, progress=False), check, refuses=False)


def _network(rng):
    """Returns a description and a model of one to three random layers and a head."""
    names = [draws.draw(rng, list(STACK)) for _ in range(rng.integers(1, 4))]
    head = draws.draw(rng, list(HEADS))
    inputs = x = keras.Input((None, CHANNELS))
    for name in names:
        x = STACK[name](x)
    return " > ".join([*names, head]), keras.Model(inputs, HEADS[head](x))


KINDS = {
    "sound recordings": (30, embed_sound),
    "a spoiled recording": (80, embed_spoiled),
    "extreme numbers": (20, embed_extreme),
    "other arguments": (15, arguments),
    "distances": (20, distances),
    "a potato": (16, potatoes),
    "a random network": (24, networks),
}
