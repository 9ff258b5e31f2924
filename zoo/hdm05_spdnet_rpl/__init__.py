"""Recipe of `hdm05_spdnet_rpl`: recognizes motions by the joints of a body."""
