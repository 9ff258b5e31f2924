"""Recipe of `phone_gait_lda`, a model that recognizes walkers by a phone in the trouser pocket, in
closed form.
"""
