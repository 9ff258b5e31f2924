"""Whose brain is it, from the covariance of one second of EEG."""
