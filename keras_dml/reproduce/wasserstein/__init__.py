"""The comparison of methods on sequences in Abdelwahab2019, Table 1 and Figures 2 to 8."""
