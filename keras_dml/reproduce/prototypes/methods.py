"""The rows of Monteiro2020, Table 1: what is trained, and which head is attacked."""

from typing import NamedTuple

from keras_dml import models
from keras_dml._backend import keras

UNDEFENDED = "undefended"
THRESHOLDS, LENET = "thresholds", "lenet"


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        training: How the network is trained.
        head: Head that is attacked.
        network: `THRESHOLDS`, filters that start as thresholds of pixels, or the paper's `LENET`.
    """

    training: str
    head: str
    network: str = THRESHOLDS


ROWS = {
    "SIM": Row(UNDEFENDED, "sim"),
    "DOL": Row(UNDEFENDED, "dol"),
    "AT": Row("at", "dol"),
    "ALP": Row("alp", "dol"),
    "TLA": Row("tla", "dol"),
    "TRADES": Row("trades", "dol"),
    "DOL + AT": Row("prototypes", "dol"),
    "SIM + AT": Row("prototypes", "sim"),
    "SIM + AT, LeNet": Row("prototypes", "sim", LENET),
}
CLASSES = 10
HIDDEN = 128  # of the similarity
FLOAT32 = "float32"


def network(kind, width, seed, precision=FLOAT32):
    """The architecture of a row.

    Args:
        kind: `THRESHOLDS` or `LENET`.
        width: Filters of the first convolution of `THRESHOLDS`, even.
        seed: Seed of all weights, the same for all rows.
        precision: Keras's policy of its layers; weights are float32 in any.

    Returns:
        A `keras_dml.models.PrototypicalClassifier` of images of 28 by 28 pixels.
    """
    keras.utils.set_random_seed(seed)
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)
    try:
        encoder = models.lenet() if kind == LENET else models.thresholding_cnn(width=width)
        return models.PrototypicalClassifier(encoder, CLASSES, hidden=(HIDDEN,), dropout=0.0)
    finally:
        keras.config.set_dtype_policy(before)


def defended(classifier, training, recipe, steps_an_epoch, seed):
    """The classifier in its adversarial training.

    Args:
        classifier: Output of `network`.
        training: Training of a `Row`, not `UNDEFENDED`.
        recipe: Dict of `epsilon`, `attack_steps` and `ramp_epochs`.
        steps_an_epoch: Batches in an epoch.
        seed: Seed of the attacks' starts.
    """
    return models.AdversarialTraining(
        classifier,
        training,
        epsilon=recipe["epsilon"],
        steps=recipe["attack_steps"],
        ramp_steps=round(recipe["ramp_epochs"] * steps_an_epoch),
        seed=seed,
    )
