"""Frames, signs, units and delays checked against each other; they warn and change no sample."""
