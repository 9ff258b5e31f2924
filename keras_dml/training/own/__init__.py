"""Training on your own recordings: checks, closed-form methods, networks and a leaderboard."""
