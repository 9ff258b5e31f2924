"""Second-order statistics of signals of several channels."""
