"""The rows of Monteiro2020, Table 1: what is trained, and which head is attacked."""

from keras_dml import models
from keras_dml._backend import keras

UNDEFENDED = "undefended"
ROWS = {  # name: how the network is trained, and its head
    "SIM": (UNDEFENDED, "sim"),
    "DOL": (UNDEFENDED, "dol"),
    "AT": ("at", "dol"),
    "ALP": ("alp", "dol"),
    "TLA": ("tla", "dol"),
    "TRADES": ("trades", "dol"),
    "DOL + AT": ("prototypes", "dol"),
    "SIM + AT": ("prototypes", "sim"),
}
TRAININGS = tuple(dict.fromkeys(training for training, _ in ROWS.values()))
CLASSES = 10
HIDDEN = 128  # of the similarity
FLOAT32 = "float32"


def network(width, seed, precision=FLOAT32):
    """The one architecture of all rows.

    Args:
        width: Filters of its first convolution, even.
        seed: Seed of all weights, the same for all rows.
        precision: Keras's policy of its layers; weights are float32 in any.

    Returns:
        A `keras_dml.models.PrototypicalClassifier` of images of 28 by 28 pixels.
    """
    keras.utils.set_random_seed(seed)
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)
    try:
        encoder = models.thresholding_cnn(width=width)
        return models.PrototypicalClassifier(encoder, CLASSES, hidden=(HIDDEN,), dropout=0.0)
    finally:
        keras.config.set_dtype_policy(before)


def defended(classifier, training, recipe, steps_an_epoch, seed):
    """The classifier in its adversarial training.

    Args:
        classifier: Output of `network`.
        training: One of `TRAININGS` but `UNDEFENDED`.
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
