"""Recipe of `watch_lda`, a model that recognizes walkers by a watch on the wrist, without a
network.
"""
