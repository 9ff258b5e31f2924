"""Recipe of `gait_qp_wl`, a model that recognizes walkers by one foot's sensor."""
