"""Whose brain is it, from one second of EEG."""
