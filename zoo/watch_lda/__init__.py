"""Recipe of `watch_lda`, a model without a network that recognizes walkers by their watch."""
