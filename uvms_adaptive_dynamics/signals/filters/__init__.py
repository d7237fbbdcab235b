"""Readings to motion and wrench at a tick."""
