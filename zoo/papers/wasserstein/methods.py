"""Defines the methods in Abdelwahab2019, section 5.3, by their networks, losses and distances."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from keras_dml import distances, layers, losses, models
from keras_dml._backend import keras
from zoo.papers.settings import SettingError

QP_WL, QP_NPL, MP_NPL, QP_CLS = "QP-WL", "QP-NPL", "MP-NPL", "QP-CLS"
GAZE_ALONE, JAEGER = "QP-WL, gaze alone", "Jäger et al. 2019"
SIGNALS, GAZE, VELOCITIES = "signals", "gaze", "velocities"
COSINE_SCALES = (16.0, 64.0)  # softmax over people needs more than the span of a cosine, -1 to 1
KNOTS = 16  # default of `models.sequence_encoder`


@dataclasses.dataclass(frozen=True)
class Method:
    """A combination of a network, a loss and a distance.

    Attributes:
        aggregation: Argument `aggregation` of `keras_dml.models.sequence_encoder`, or an empty
            string if the method uses another network.
        loss: `"wasserstein"`, `"n_pair"` or `"softmax"`.
        scales: Candidate factors by which the loss multiplies distances or cosines.
        reads: Attribute of the recordings that the network takes: `SIGNALS`, `GAZE` or
            `VELOCITIES`.
    """

    aggregation: str
    loss: str
    scales: tuple[float, ...] = (1.0,)
    reads: str = SIGNALS

    @property
    def distance(self) -> distances.Distance:
        """Distance between two embeddings in the test, the Wasserstein distance or the negative
        cosine.
        """
        return distances.Wasserstein(1) if self.loss == "wasserstein" else distances.Cosine()

    def lengths(self, table: np.ndarray) -> np.ndarray:
        """Returns distances that are 0 between equal embeddings. Negative cosines are converted to
        the lengths of chords between unit vectors.

        Args:
            table: Distances that `distance` computed.
        """
        return table if self.loss == "wasserstein" else np.sqrt(np.maximum(2 + 2 * table, 0))


METHODS = {
    QP_WL: Method("quantile", "wasserstein", (0.25, 1.0)),
    QP_NPL: Method("quantile", "n_pair", COSINE_SCALES),
    MP_NPL: Method("max", "n_pair", COSINE_SCALES),
    QP_CLS: Method("quantile", "softmax"),
    GAZE_ALONE: Method("quantile", "wasserstein", (0.25, 1.0), reads=GAZE),
    JAEGER: Method("", "softmax", reads=VELOCITIES),
}


def applicable_methods(recordings) -> tuple[str, ...]:
    """Returns the names of the methods that can be run on the recordings.

    If the recordings contain the gaze, the result includes the network of Jaeger2019. If the
    recordings contain more channels than the gaze, the result also includes QP-WL on the gaze
    alone.

    Args:
        recordings: `Recordings`.
    """
    names = [name for name, method in METHODS.items() if method.reads == SIGNALS]
    if recordings.gaze is not None:
        names += [GAZE_ALONE] if recordings.channels > 2 else []
        names += [JAEGER]
    return tuple(names)


def selected_methods(recordings, names: Iterable[str] | None) -> tuple[str, ...]:
    """Returns the names of the methods to run. The result consists of QP-WL and the methods that
    the settings name.

    Args:
        recordings: `Recordings`.
        names: Names of `METHODS`. None selects all methods that the recordings allow.

    Raises:
        SettingError: If a name is unknown, or if the recordings do not allow the method.
    """
    applicable = applicable_methods(recordings)
    if names is None:
        return applicable
    for name in names:
        if name not in applicable:
            raise SettingError(
                "methods",
                f"Received {name!r}. On these recordings, give one of "
                f"{', '.join(map(repr, applicable))}.",
            )
    return tuple(name for name in applicable if name == QP_WL or name in names)


def untrained_encoder(method: Method, signals: Sequence[np.ndarray], settings: Mapping[str, Any]):
    """Returns the untrained encoder of a method. The means and standard deviations of the
    recordings normalize the channels.

    Args:
        method: A `Method` whose `aggregation` is not empty.
        signals: Arrays `(time_i, channels)`.
        settings: Dictionary with `seed`, `size`, `halvings`, `slope_l2` and `knots`. Without
            `knots`, the encoder has 16 knots.
    """
    keras.utils.set_random_seed(settings["seed"])
    model = models.sequence_encoder(
        signals[0].shape[1],
        size=settings["size"],
        aggregation=method.aggregation,
        knots=settings.get("knots", KNOTS),
        flatten=method.aggregation == "quantile" and method.loss != "wasserstein",
        halvings=settings["halvings"],
        halve_every=1,
        slope_l2=settings["slope_l2"],
    )
    model.get_layer("normalization").adapt(signals)
    return model


def model_and_loss(method: Method, encoder, classes: int, scale: float):
    """Returns the model to train, and its loss. The model shares its weights with the encoder.

    Args:
        method: A `Method` whose `aggregation` is not empty.
        encoder: Output of `untrained_encoder`.
        classes: Number of people.
        scale: Factor by which the loss multiplies distances or cosines.
    """
    if method.loss == "wasserstein":
        return encoder, losses.WassersteinLoss(scale=scale)
    if method.loss == "n_pair":
        return encoder, losses.NPairLoss("cosine", scale=scale)
    head = keras.Sequential([encoder, keras.layers.Dense(classes, name="people")])
    return head, keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def log_euclidean(signals: Sequence[np.ndarray]):
    """Returns a model that computes the matrix logarithm of the channels' covariance. The model has
    no trained weights.

    Args:
        signals: Arrays `(time_i, channels)`, which determine how the channels are normalized.
    """
    normalization = layers.ChannelNormalization()
    normalization.adapt(signals)
    return keras.Sequential(
        [
            keras.Input((None, signals[0].shape[1])),
            normalization,
            layers.Covariance("oas"),
            layers.LogEig(),
            layers.TangentVector(),
        ]
    )
