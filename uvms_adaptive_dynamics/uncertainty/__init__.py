"""Covariances, noise, identifiability, and when a controller should not rely on the model."""
