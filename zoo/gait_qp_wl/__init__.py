"""Recipe of `gait_qp_wl`: recognizes walkers by one foot's sensor."""
