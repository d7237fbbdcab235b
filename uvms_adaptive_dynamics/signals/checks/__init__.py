"""Settings that contradict the data: frames, signs, units, delays."""
