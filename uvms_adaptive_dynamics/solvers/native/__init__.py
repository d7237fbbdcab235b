"""The package's own solver of the horizon problem: an active-set method and an interior-point method."""
