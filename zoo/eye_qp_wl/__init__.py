"""Who is watching, from ten seconds of one eye's movements."""
