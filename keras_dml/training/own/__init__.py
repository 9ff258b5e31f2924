"""Training on recordings of any folder: checks, closed forms, a network and a leaderboard."""
