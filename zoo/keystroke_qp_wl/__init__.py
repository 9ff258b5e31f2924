"""Recipe of `keystroke_qp_wl`, a network that recognizes people by how they type."""
