"""Fits linear discriminant analysis (LDA) to lagged correlations between the channels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_dml import _optional, inference
from keras_dml._backend import keras, ops
from keras_dml._typing import Recordings
from keras_dml.layers import (
    ChannelNormalization,
    LaggedCorrelation,
    LinearDiscriminants,
    SequencePooling,
)
from keras_dml.training import fronts

with _optional.explained():
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import StandardScaler

# limits of a batch: largest number of windows, and largest number of values for long audio windows
BATCH, BATCH_VALUES = 256, 2**21
COMPONENTS = 150  # number of principal components from which the discriminants are fitted
# A correlation that is zero by construction, such as a correlation between principal axes, varies
# only by rounding.
LEAST_VARIANCE = 1e-6
SHRINKAGE = 0.1  # shrinks the within-person covariance toward a multiple of the identity


def correlation_model(
    windows: np.ndarray,
    people: Sequence[Any],
    lags: Sequence[int],
    count: int,
    adapt_to: Recordings | None = None,
    front: Sequence[keras.layers.Layer] = (),
    means: bool = False,
) -> keras.Model:
    """Fits a model that separates people by linear discriminant analysis of lagged correlations.

    Functional model:
        Input: `signal`, shape `(batch, time, channels)`, in the sensor's units.
        Output: Embeddings, shape `(batch, features)` with at most `count` features, compared by
            cosine.

    Args:
        windows: Training signals, shape `(windows, time, channels)`.
        people: Person who made each window, as a name or a number.
        lags: Lags of the correlations, in steps.
        count: Largest number of discriminants, see `discriminant_model`.
        adapt_to: Recordings whose statistics normalize the channels. If None, the channels are
            normalized by the statistics of `windows`.
        front: Fixed layers before the normalization.
        means: Whether to use the means of the channels as features in addition to the correlations.
    """
    recordings = list(windows) if adapt_to is None else adapt_to
    features = correlation_features(recordings, lags, front, means)
    return discriminant_model(features, windows, people, count)


def correlation_features(
    recordings: Recordings,
    lags: Sequence[int],
    front: Sequence[keras.layers.Layer] = (),
    means: bool = False,
) -> keras.Model:
    """Returns a model without trained weights that computes lagged correlations.

    Functional model:
        Input: `signal`, shape `(batch, time, channels)`, in the sensor's units.
        Output: One vector per signal.

    Args:
        recordings: Recordings whose statistics normalize the channels.
        lags: Lags of the correlations, in steps.
        front: Fixed layers before the normalization, as in `correlation_model`.
        means: Whether to use the means of the channels as features, as in `correlation_model`.
    """
    signal = keras.Input((None, recordings[0].shape[-1]), name="signal")
    normalization = ChannelNormalization(name="normalization")
    normalized = normalization(fronts.apply(front, signal))
    features = LaggedCorrelation(lags, name="correlations")(normalized)
    if means:
        mean = SequencePooling("mean", name="means")(normalized)
        features = keras.layers.Concatenate(name="statistics")([features, mean])
    normalization.adapt(fronts.outputs(front, recordings))
    return keras.Model(signal, features)


def discriminant_model(
    model: keras.Model, windows: Recordings, people: Sequence[Any], count: int, limit: float = 2.0
) -> keras.Model:
    """Appends fitted linear discriminants to a model that computes features.

    Args:
        model: A functional `keras.Model` whose outputs are vectors.
        windows: Training signals as an array or a list, see `outputs`.
        people: Person who made each window, as a name or a number.
        count: Largest number of discriminants. The number of discriminants is always less than the
            number of people, and at most the number of features.
        limit: Largest absolute value of a discriminant, see `keras_dml.layers.LinearDiscriminants`.
    """
    count = min(count, len(set(people)) - 1, model.output.shape[-1], COMPONENTS)
    head = LinearDiscriminants(count, limit, name="embedding")
    whole = keras.Model(model.input, head(model.output), name="linear_discriminants")
    head.set_weights(linear_weights(outputs(model, windows), people, count))
    return whole


def outputs(model: keras.Model, windows: Recordings) -> np.ndarray:
    """Computes the outputs of a model without compiling it.

    Args:
        model: A model whose inputs are signals.
        windows: Signals, shape `(windows, time, channels)`, or a list of signals of any lengths.

    Returns:
        Outputs, shape `(windows, features)`.
    """
    if len({len(window) for window in windows}) > 1:
        return inference.embed(model, windows, progress=False)
    batch = min(BATCH, max(1, BATCH_VALUES // np.size(windows[0])))
    parts = [
        ops.convert_to_numpy(model(np.stack(windows[i : i + batch]), training=False))
        for i in range(0, len(windows), batch)
    ]
    return np.concatenate(parts)


def discriminant_analysis(
    features: np.ndarray, people: Sequence[Any], count: int, *scaling: Any
) -> Pipeline:
    """Fits principal components (PCA) and linear discriminants (LDA) that separate people.

    Args:
        features: Features, shape `(windows, features)`.
        people: Person who made each window, as a name or a number.
        count: Number of discriminants, smaller than the number of people.
        *scaling: scikit-learn transformers that are applied before the principal components.

    Returns:
        Fitted scikit-learn pipeline. Each output is scaled so that windows of the same person have
        a standard deviation of 1, computed with shrinkage. Directions in which the features do not
        vary come last.
    """
    # The full decomposition is used because the solver for many features draws random numbers.
    components = PCA(min(COMPONENTS, *features.shape), svd_solver="full")
    discriminants = LinearDiscriminantAnalysis("eigen", shrinkage=SHRINKAGE, n_components=count)
    analysis = make_pipeline(*scaling, components, discriminants).fit(features, people)
    # scikit-learn shrinks the total and the within-class covariance toward different multiples of
    # the identity, so that directions without variance rank above weak discriminants.
    scalings = discriminants.scalings_  # (components, directions)
    varies = np.var(analysis[:-1].transform(features) @ scalings, axis=0) > LEAST_VARIANCE
    discriminants.scalings_ = scalings[:, np.argsort(~varies, kind="stable")]
    return analysis


def linear_weights(
    features: np.ndarray, people: Sequence[Any], count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Computes the kernel and the bias of the first linear discriminants that separate people.

    Args:
        features: Features, shape `(windows, features)`.
        people: Person who made each window, as a name or a number.
        count: Number of discriminants, smaller than the number of people.

    Returns:
        Kernel, shape `(features, count)`, and bias, shape `(count,)`. Each discriminant is scaled
        so that windows of the same person have a standard deviation of 1, computed with shrinkage.
        The weights of features that do not vary are 0.
    """
    varies = features.var(axis=0) > LEAST_VARIANCE
    analysis = discriminant_analysis(features * varies, people, count, StandardScaler())
    bias, *rows = analysis.transform(np.vstack([np.zeros(len(varies)), np.diag(varies)]))
    return np.array(rows) - bias, bias
