"""Evidence for the card of `mnist_proto_sim_at`."""

from zoo import image_evidence
from zoo.mnist_proto_sim_at import train


def evidence(trained):
    """Returns the evidence on the test images."""
    return image_evidence.of_classifier(train.examples, trained)
