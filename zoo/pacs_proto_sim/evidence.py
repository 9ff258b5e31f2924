"""Measures `pacs_proto_sim` and its baselines for its card."""

from zoo import image_evidence
from zoo.pacs_proto_sim import train

SIDE = 16


def evidence(trained):
    """Measures the published file and its baselines on test pictures of the training domains.

    Accuracy on another domain can only be measured with a network that was not trained on it.
    """
    return image_evidence.of_classifier(train.examples, trained, side=SIDE)
