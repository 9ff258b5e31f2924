"""Recipe of `vowels_qp_wl`, a model that recognizes speakers by one vowel."""
