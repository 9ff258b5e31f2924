"""Recipe of `eye_qp_wl`: recognizes people by ten seconds of one eye's movements."""
