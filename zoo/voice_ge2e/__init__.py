"""Recipe of `voice_ge2e`, Resemblyzer's voice encoder with unchanged weights."""
