"""Recipe of `phone_gait_qp_wl`: recognizes walkers by a phone in the trouser pocket."""
