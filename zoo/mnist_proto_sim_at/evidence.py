"""Measures `mnist_proto_sim_at` and its baselines. The model's card contains the results."""

from zoo import image_evidence
from zoo.mnist_proto_sim_at import train


def evidence(trained):
    """Measures the model and its baselines on the test images."""
    return image_evidence.of_classifier(train.examples, trained)
