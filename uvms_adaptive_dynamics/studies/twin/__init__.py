"""Forecasts of the digital twin beside what then happened (docs/twin.md)."""
