"""Defines the rows of Monteiro2020, Table 1. A row consists of a training and of the head that is
attacked.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from keras_dml import models
from keras_dml._backend import keras
from zoo.papers.prototypes.settings import FLOAT32

UNDEFENDED = "undefended"
THRESHOLDS, LENET = "thresholds", "lenet"


class Row(NamedTuple):
    """A trained network and the head that is attacked, in a row of the table.

    Attributes:
        training: Kind of training, which is `UNDEFENDED` or a kind that
            `models.AdversarialTraining` accepts.
        head: Head that is attacked.
        network: Kind of network, `THRESHOLDS` or `LENET`. The first filters of a network of the
            kind `THRESHOLDS` are initialized as thresholds for pixels. `LENET` is the network of
            the paper.
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
    """Builds the network of a row, a `PrototypicalClassifier` that takes images of 28 by 28 pixels.

    Args:
        kind: `THRESHOLDS` or `LENET`.
        width: Number of filters in the first convolution of `THRESHOLDS`, an even number.
        seed: Seed of all weights.
        precision: Keras dtype policy of the layers. The weights are always float32.
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
    """Wraps a classifier so that its training is adversarial.

    Args:
        classifier: Output of `network`.
        training: Kind of training, as in `Row.training`, but not `UNDEFENDED`.
        recipe: Dictionary with `epsilon`, `attack_steps` and `ramp_epochs`.
        steps_per_epoch: Number of batches in an epoch.
        seed: Seed of the random starting points of the attacks.
    """
    return models.AdversarialTraining(
        classifier,
        training,
        epsilon=recipe["epsilon"],
        steps=recipe["attack_steps"],
        ramp_steps=round(recipe["ramp_epochs"] * steps_per_epoch),
        seed=seed,
    )
