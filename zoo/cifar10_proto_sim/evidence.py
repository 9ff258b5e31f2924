"""What the card of `cifar10_proto_sim` rests on."""

from zoo import image_evidence
from zoo.cifar10_proto_sim import train


def evidence(trained):
    """The test images."""
    return image_evidence.of_classifier(train.examples, trained)
