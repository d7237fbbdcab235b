"""Files from outside and results on disk: read within limits, written whole or kept elsewhere."""
