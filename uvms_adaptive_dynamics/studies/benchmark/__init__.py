"""`benchmark`: time, accuracy and memory of the complete update, always beside the CVXPY
formulation on the same ticks.

cases (what is run) -> samples (simulated robot, or a chain of any length) -> measure (one case,
a process of its own) -> report (table, JSON, plot); acceptance (asked beside measured);
endurance (memory over many ticks)
"""
