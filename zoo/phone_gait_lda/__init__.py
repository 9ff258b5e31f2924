"""Who is walking, from a phone in the trouser pocket, without a network."""
