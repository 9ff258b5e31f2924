"""What the card of `pacs_proto_sim` rests on."""

from zoo import image_evidence
from zoo.pacs_proto_sim import train

SIDE = 16


def evidence(trained):
    """Pictures of the domains that the published file was trained on: what it is worth on another
    domain, only a network that left it out can show."""
    return image_evidence.of_classifier(train.examples, trained, side=SIDE)
