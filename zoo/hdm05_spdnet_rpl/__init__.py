"""Which motion is it, from the joints of a body."""
