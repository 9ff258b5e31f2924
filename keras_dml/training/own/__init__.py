"""Training on recordings of one's own: checks, methods in closed form, a network, a leaderboard,
and a folder as those of the zoo."""
