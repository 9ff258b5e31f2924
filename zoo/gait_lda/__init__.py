"""Recipe of `gait_lda`: recognizes walkers by one foot's sensor, in closed form."""
