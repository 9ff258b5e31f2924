"""Recipe of `hdm05_spdnet_rpl`, a model that recognizes motions by the joints of a body."""
