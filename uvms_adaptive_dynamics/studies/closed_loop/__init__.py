"""`closed_loop`: the simulated robot under a controller with this and that feedforward."""
