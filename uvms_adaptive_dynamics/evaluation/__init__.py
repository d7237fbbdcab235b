"""Offline evaluation of recordings through the same front end and estimator as the node.

The data's way: bags -> run (front end, estimator) -> log, run record -> metrics.json, report and
figures; `evaluate_command` is the command line. `rosbags` is imported by `bags` alone, matplotlib
by `figures` and its `canvas`, jinja2 by `report`.
"""
