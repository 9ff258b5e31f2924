"""Recognition of walkers by a watch on the wrist, without a network."""
