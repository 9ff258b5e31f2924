"""Linear discriminants in closed form, and an encoder whose quantile functions they shift.

Trained on some hundred people, convolutions do not find what linear discriminants of second-order
statistics give in closed form. The discriminants become weights of the model itself.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from keras_dml._backend import keras
from keras_dml.models import with_shift

COMPONENTS = 150  # of the features, before the discriminants
SHRINKAGE = 0.1  # of the covariance within a person toward a multiple of the identity


def discriminant_analysis(features, people, count, *scaling):
    """Principal components, and the first discriminants between people on them.

    Args:
        features: Shape `(windows, features)`.
        people: Person of each window.
        count: Number of discriminants, less than there are people.
        *scaling: Transformations before the components.

    Returns:
        A fitted pipeline; its outputs are in (shrunk) standard deviations within a person.
    """
    # the whole decomposition: that for many features draws random numbers
    components = PCA(min(COMPONENTS, *features.shape), svd_solver="full")
    discriminants = LinearDiscriminantAnalysis("eigen", shrinkage=SHRINKAGE, n_components=count)
    return make_pipeline(*scaling, components, discriminants).fit(features, people)


def linear(features, people, count):
    """Kernel and bias of the first discriminants of standardized features, arguments as above."""
    found = discriminant_analysis(features, people, count, StandardScaler())
    bias, *rows = found.transform(
        np.vstack([np.zeros_like(features[0]), np.eye(features.shape[1])])
    )
    return np.array(rows) - bias, bias


def shifted(encoder, windows, people, lags, count):
    """The encoder, its first filters moved by discriminants between people.

    Args:
        encoder: A trained `sequence_encoder`; its layers are shared.
        windows: Signals, shape `(windows, time, channels)`.
        people: Person of each window.
        lags: Lags of the correlations.
        count: Number of discriminants, less than there are people.
    """
    moved = with_shift(encoder, lags, count)
    moved.get_layer("shift").set_weights(linear(_correlations(moved, windows), people, count))
    return moved


def distances(encoder, windows):
    """Distances between windows by the shifts alone, as if the convolutions said nothing.

    Args:
        encoder: Output of `shifted`.
        windows: Signals, shape `(windows, time, channels)`.
    """
    shift = encoder.get_layer("shift")
    correlations = _correlations(encoder, windows)
    still = np.zeros((len(correlations), 1, shift.units), np.float32)
    moved = np.asarray(shift([still, correlations]))[:, 0]
    return cdist(moved, moved, "cityblock")


def _correlations(encoder, windows):
    model = keras.Model(encoder.input, encoder.get_layer("correlations").output)
    return model.predict(np.asarray(windows, np.float32), verbose=0)
