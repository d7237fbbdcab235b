"""Motions that excite what is not known yet, within the robot's limits (docs/excitation.md)."""
