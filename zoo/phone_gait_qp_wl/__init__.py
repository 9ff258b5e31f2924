"""Recipe of `phone_gait_qp_wl`, a model that recognizes walkers by a phone in the trouser
pocket.
"""
