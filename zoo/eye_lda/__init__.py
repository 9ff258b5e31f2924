"""Recipe of `eye_lda`: recognizes people by ten seconds of one eye's movements, without a
network.
"""
