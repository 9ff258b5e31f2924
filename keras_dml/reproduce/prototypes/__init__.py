"""P2's Table 1 on MNIST: prototypical classifiers and others under attack."""
