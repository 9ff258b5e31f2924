"""Trains models on your own recordings, compares several methods, and writes a leaderboard."""
