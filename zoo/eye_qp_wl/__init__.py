"""Recipe of `eye_qp_wl`, a model that recognizes people by nine seconds of one eye's movements."""
