"""The package's own methods for the horizon problem: an active-set method and an interior-point
method."""
