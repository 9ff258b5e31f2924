"""What is it, in a photograph, a painting, a cartoon or a sketch."""
