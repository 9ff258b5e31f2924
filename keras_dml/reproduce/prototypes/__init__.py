"""Table 1 of Monteiro2020 on MNIST: prototypical classifiers and others under attack."""
