"""Measures `pacs_proto_sim` and its baselines. The model's card contains the results."""

from zoo import image_evidence
from zoo.pacs_proto_sim import train

SIDE = 16


def evidence(trained):
    """Measures the published file and its baselines on test pictures of the training domains.

    The published file was trained on all domains, so the accuracy on a domain that was left out
    cannot be measured with this file.
    """
    return image_evidence.of_classifier(train.examples, trained, side=SIDE)
