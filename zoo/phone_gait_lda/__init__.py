"""Recipe of `phone_gait_lda`: recognizes walkers by a phone in the trouser pocket, in closed
form.
"""
