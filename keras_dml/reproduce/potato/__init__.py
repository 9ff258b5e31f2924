"""The comparison of losses on one SPD network in Kim2020, Table I and Figures 2 to 5."""
