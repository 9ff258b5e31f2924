"""Recipe of `vowels_qp_wl`: recognizes speakers by one vowel."""
