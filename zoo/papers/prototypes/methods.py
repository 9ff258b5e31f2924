"""Rows of Monteiro2020, Table 1: the training of a network, and the head that is attacked."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from keras_dml import models
from keras_dml._backend import keras
from zoo.papers.prototypes.settings import FLOAT32

UNDEFENDED = "undefended"
THRESHOLDS, LENET = "thresholds", "lenet"


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        training: Kind of training: `UNDEFENDED` or one of `models.AdversarialTraining`.
        head: Head that is attacked.
        network: `THRESHOLDS`, whose first filters start as thresholds of pixels, or `LENET`, the
            paper's network.
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


def network(kind: str, width: int, seed: int, precision: str = FLOAT32):
    """Builds the network of a row, a `PrototypicalClassifier` of images of 28 by 28 pixels.

    Args:
        kind: `THRESHOLDS` or `LENET`.
        width: Number of filters of the first convolution of `THRESHOLDS`, even.
        seed: Seed of all weights.
        precision: Keras's dtype policy of its layers; weights are always float32.
    """
    keras.utils.set_random_seed(seed)
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)
    try:
        encoder = models.lenet() if kind == LENET else models.thresholding_cnn(width=width)
        return models.PrototypicalClassifier(encoder, CLASSES, hidden=(HIDDEN,), dropout=0.0)
    finally:
        keras.config.set_dtype_policy(policy)


def with_defense(
    classifier, training: str, recipe: Mapping[str, Any], steps_per_epoch: int, seed: int
):
    """Wraps a classifier in its adversarial training.

    Args:
        classifier: Output of `network`.
        training: Training of a `Row`, not `UNDEFENDED`.
        recipe: Dict of `epsilon`, `attack_steps` and `ramp_epochs`.
        steps_per_epoch: Batches in an epoch.
        seed: Seed of the starts of the attacks.
    """
    return models.AdversarialTraining(
        classifier,
        training,
        epsilon=recipe["epsilon"],
        steps=recipe["attack_steps"],
        ramp_steps=round(recipe["ramp_epochs"] * steps_per_epoch),
        seed=seed,
    )
