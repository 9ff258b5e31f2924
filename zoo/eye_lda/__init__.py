"""Recipe of `eye_lda`, a model that recognizes people by ten seconds of one eye's movements,
without a network.
"""
