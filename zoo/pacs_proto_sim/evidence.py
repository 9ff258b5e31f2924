"""Evidence for the card of `pacs_proto_sim`."""

from zoo import image_evidence
from zoo.pacs_proto_sim import train

SIDE = 16


def evidence(trained):
    """Returns the evidence on test pictures of the domains that the published file was trained on.

    Accuracy on another domain can only be measured with a network that was not trained on it.
    """
    return image_evidence.of_classifier(train.examples, trained, side=SIDE)
