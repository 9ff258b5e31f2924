"""Recipe of `gait_lda`, a model without a network that recognizes walkers by one foot's sensor."""
