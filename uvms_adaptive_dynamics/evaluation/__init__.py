"""Offline evaluation of recordings through the same front end and estimator as the node (DESIGN section 12).

The way of the data: bags -> run (front end, estimator) -> log -> metrics -> report and figures; `command` is the
command line. `rosbags` is imported by `bags` alone and matplotlib by `figures` and its `canvas`.
"""
