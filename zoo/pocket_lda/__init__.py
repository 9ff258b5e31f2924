"""Recipe of `pocket_lda`, a model without a network that recognizes walkers by the accelerometer
and the gyroscope of a phone in the pocket.
"""
