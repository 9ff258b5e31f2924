"""Recipe of `phone_gait_lda`, a model without a network that recognizes walkers by a phone in the
trouser pocket.
"""
