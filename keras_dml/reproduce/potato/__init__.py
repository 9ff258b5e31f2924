"""P3's comparison of losses on one SPD network, Table I and Figures 2 to 5."""
