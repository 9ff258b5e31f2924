"""Who is speaking, from one vowel."""
