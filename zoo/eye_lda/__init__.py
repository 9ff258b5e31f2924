"""Recipe of `eye_lda`, a model without a network that recognizes people by nine seconds of one
eye's movements.
"""
