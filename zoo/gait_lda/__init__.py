"""Recipe of `gait_lda`, a model that recognizes walkers by one foot's sensor, in closed form."""
