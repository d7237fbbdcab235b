"""Designed motions on the simulated robot: dry runs, what they are worth, campaigns."""
