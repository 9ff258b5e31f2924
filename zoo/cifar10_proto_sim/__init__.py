"""Which of ten kinds of things is on a small photograph."""
