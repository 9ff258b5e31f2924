"""The methods of Abdelwahab2019, section 5.3: networks, losses, distances."""

import dataclasses

import numpy as np

from keras_dml import distances, layers, losses, models
from keras_dml._backend import keras

QP_WL, QP_NPL, MP_NPL, QP_CLS = "QP-WL", "QP-NPL", "MP-NPL", "QP-CLS"
GAZE_ALONE, JAEGER = "QP-WL, gaze alone", "Jäger et al. 2019"
SIGNALS, GAZE, VELOCITIES = "signals", "gaze", "velocities"
COSINE_SCALES = (16.0, 64.0)  # a cosine alone spans too little for a softmax over people


@dataclasses.dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes:
        aggregation: Same as in `keras_dml.models.sequence_encoder`.
        loss: `"wasserstein"`, `"n_pair"` or `"softmax"`.
        scales: Candidates of the factor on the distances, or on the cosines.
        reads: What of the recordings it takes: `SIGNALS`, `GAZE` or `VELOCITIES`.
    """

    aggregation: str
    loss: str
    scales: tuple[float, ...] = (1.0,)
    reads: str = SIGNALS

    @property
    def distance(self):
        """The distance between two embeddings at test time: Wasserstein, or the negative cosine."""
        return distances.Wasserstein(1) if self.loss == "wasserstein" else distances.Cosine()

    def lengths(self, table):
        """Distances that are 0 between equal embeddings: of negative cosines the chords.

        Args:
            table: Distances by `distance`.
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


def names_for(recordings):
    """The methods that can be run on some recordings: those of Jäger et al. on eye movements, the
    one on gaze alone where the signals hold more."""
    names = [name for name, method in METHODS.items() if method.reads == SIGNALS]
    if recordings.gaze is not None:
        names += [GAZE_ALONE] if recordings.channels > 2 else []
        names += [JAEGER]
    return tuple(names)


def encoder(method, signals, settings):
    """The untrained encoder of a method, its channels normalized by the statistics of recordings.

    Args:
        method: A `Method` with an aggregation.
        signals: List of arrays `(time_i, channels)`.
        settings: Dict of `seed`, `size`, `halvings` and `slope_l2`.
    """
    keras.utils.set_random_seed(settings["seed"])
    model = models.sequence_encoder(
        signals[0].shape[1],
        size=settings["size"],
        aggregation=method.aggregation,
        flatten=method.aggregation == "quantile" and method.loss != "wasserstein",
        halvings=settings["halvings"],
        halve_every=1,
        slope_l2=settings["slope_l2"],
    )
    model.get_layer("normalization").adapt(signals)
    return model


def trained_by(method, model, classes, scale):
    """A model to be trained, which shares its weights with an encoder, and its loss.

    Args:
        method: A `Method` with an aggregation.
        model: Output of `encoder`.
        classes: Number of people.
        scale: One of the method's `scales`, or 1.
    """
    if method.loss == "wasserstein":
        return model, losses.WassersteinLoss(scale=scale)
    if method.loss == "n_pair":
        return model, losses.NPairLoss("cosine", scale=scale)
    head = keras.Sequential([model, keras.layers.Dense(classes, name="people")])
    return head, keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def log_euclidean(signals):
    """A model that trains nothing: the matrix logarithm of the covariance of the channels."""
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
