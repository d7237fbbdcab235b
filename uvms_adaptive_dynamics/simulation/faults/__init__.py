"""Faults of sensors, clocks and logs, put into a stream of messages; simulated or recorded.

stream (what a fault is) <- values, delivery, clocks (faults) <- kinds (`simulate --faults`)
"""
