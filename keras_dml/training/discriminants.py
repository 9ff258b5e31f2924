"""Linear discriminants of lagged correlations, in closed form: a model of recordings without
training steps."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from keras_dml import inference
from keras_dml._backend import keras, ops
from keras_dml.layers import (
    ChannelNormalization,
    LaggedCorrelation,
    LinearDiscriminants,
    SequencePooling,
)
from keras_dml.training import fronts

BATCH, BATCH_VALUES = 256, 2**21  # windows, and values in them: of sound they are long
COMPONENTS = 150  # of the features, before the discriminants
# A correlation that is zero by construction, as of principal axes, varies by its rounding alone.
LEAST_VARIANCE = 1e-6
SHRINKAGE = 0.1  # of the covariance within a person toward a multiple of the identity


def fitted(windows, people, lags, count, adapt_to=None, front=(), means=False):
    """A model that gives linear discriminants between people.

    Functional model:
        Input: `signal`, shape `(batch, time, channels)`, in the sensor's units.
        Output: `(batch, count)` or narrower, compared by cosine.

    Args:
        windows: Training signals, shape `(windows, time, channels)`.
        people: Person of each window.
        lags: Lags of the correlations, in steps.
        count: See `of_features`.
        adapt_to: Recordings whose statistics normalize the channels; None for the windows.
        front: Layers before the normalization, which train nothing.
        means: Whether the means of the channels stand beside their correlations.

    Returns:
        A `keras.Model`.
    """
    recordings = list(windows) if adapt_to is None else adapt_to
    return of_features(statistics(recordings, lags, front, means), windows, people, count)


def statistics(recordings, lags, front=(), means=False):
    """A model that gives lagged correlations, and trains nothing.

    Functional model:
        Input: `signal`, shape `(batch, time, channels)`, in the sensor's units.
        Output: One vector per signal.

    Args:
        recordings: Recordings whose statistics normalize the channels.
        lags: See `fitted`.
        front: See `fitted`.
        means: See `fitted`.

    Returns:
        A `keras.Model`.
    """
    signal = keras.Input((None, recordings[0].shape[-1]), name="signal")
    normalization = ChannelNormalization(name="normalization")
    normalized = normalization(fronts.applied(front, signal))
    features = LaggedCorrelation(lags, name="correlations")(normalized)
    if means:
        mean = SequencePooling("mean", name="means")(normalized)
        features = keras.layers.Concatenate(name="statistics")([features, mean])
    normalization.adapt(fronts.outputs(front, recordings))
    return keras.Model(signal, features)


def of_features(model, windows, people, count, limit=2.0):
    """A model that gives linear discriminants of another one's features.

    Args:
        model: A functional `keras.Model` that gives vectors.
        windows: Training signals, see `outputs`.
        people: Person of each window.
        count: Most discriminants; there are fewer than people, and no more than features.
        limit: Bound of a discriminant, see `keras_dml.layers.LinearDiscriminants`.

    Returns:
        A `keras.Model`.
    """
    count = min(count, len(set(people)) - 1, model.output.shape[-1], COMPONENTS)
    head = LinearDiscriminants(count, limit, name="embedding")
    whole = keras.Model(model.input, head(model.output), name="linear_discriminants")
    head.set_weights(linear(outputs(model, windows), people, count))
    return whole


def outputs(model, windows):
    """Computes the outputs of a model, without compiling a function that is called once.

    Args:
        model: A model of signals.
        windows: Signals, shape `(windows, time, channels)`, or a list of them, of any lengths.

    Returns:
        Shape `(windows, features)`.
    """
    if len({len(window) for window in windows}) > 1:
        return inference.embed(model, windows, progress=False)
    batch = min(BATCH, max(1, BATCH_VALUES // np.size(windows[0])))
    parts = [
        ops.convert_to_numpy(model(np.stack(windows[i : i + batch]), training=False))
        for i in range(0, len(windows), batch)
    ]
    return np.concatenate(parts)


def discriminant_analysis(features, people, count, *scaling):
    """Principal components, and the first discriminants between people on them.

    Args:
        features: Shape `(windows, features)`.
        people: Person of each window.
        count: Number of discriminants, less than there are people.
        *scaling: Transformations before the components.

    Returns:
        A fitted pipeline; its outputs are in (shrunk) standard deviations within a person.
        Directions in which the features do not vary come last.
    """
    # the whole decomposition: that for many features draws random numbers
    components = PCA(min(COMPONENTS, *features.shape), svd_solver="full")
    discriminants = LinearDiscriminantAnalysis("eigen", shrinkage=SHRINKAGE, n_components=count)
    analysis = make_pipeline(*scaling, components, discriminants).fit(features, people)
    # scikit-learn shrinks the total and the within-class covariance toward different multiples of
    # the identity, so that directions without variance rank above weak discriminants.
    scalings = discriminants.scalings_  # (components, directions)
    varies = np.var(analysis[:-1].transform(features) @ scalings, axis=0) > LEAST_VARIANCE
    discriminants.scalings_ = scalings[:, np.argsort(~varies, kind="stable")]
    return analysis


def linear(features, people, count):
    """Kernel and bias of the first linear discriminants between people.

    Args:
        features: Shape `(windows, features)`.
        people: Person of each window.
        count: Number of discriminants, less than there are people.

    Returns:
        Shapes `(features, count)` and `(count,)`; the discriminants are in (shrunk) standard
        deviations within a person, and weigh features that do not vary by 0.
    """
    varies = features.var(axis=0) > LEAST_VARIANCE
    found = discriminant_analysis(features * varies, people, count, StandardScaler())
    bias, *rows = found.transform(np.vstack([np.zeros(len(varies)), np.diag(varies)]))
    return np.array(rows) - bias, bias
