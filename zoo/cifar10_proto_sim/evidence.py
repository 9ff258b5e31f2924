"""Measures `cifar10_proto_sim` and its baselines. The model's card contains the results."""

from zoo import image_evidence, patches
from zoo.cifar10_proto_sim import train

PATCHES = "ridge regression on the responses to 400 whitened patches, drawn at random (Coates2011)"


def evidence(trained):
    """Measures the model and its baselines on the test images."""
    closed_forms = {"random patches": (PATCHES, patches.classify)}
    return image_evidence.of_classifier(train.examples, trained, closed_forms=closed_forms)
