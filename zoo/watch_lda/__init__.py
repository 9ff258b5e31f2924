"""Recipe of `watch_lda`: recognizes walkers by a watch on the wrist, without a network."""
