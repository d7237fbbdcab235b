"""`faults`: one fault after the other in an otherwise clean recording, and what came of it.

case (what a fault is, what is asked) <- *_cases (the table's parts) <- table -> runner (a recording
through front end and estimator) -> judge (against the clean recording) -> report (lines, JSON)
"""
