"""From messages to stamped readings in SI units, body FRD and world NED."""
