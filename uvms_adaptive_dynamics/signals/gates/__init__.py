"""Outliers and frozen sensors, rejected before any filter smooths them."""
