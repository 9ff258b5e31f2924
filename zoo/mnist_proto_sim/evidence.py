"""What the card of `mnist_proto_sim` rests on."""

from zoo import image_evidence
from zoo.mnist_proto_sim import train


def evidence(trained):
    """The test images."""
    return image_evidence.of_classifier(train.examples, trained)
