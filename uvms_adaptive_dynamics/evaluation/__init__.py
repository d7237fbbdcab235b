"""Offline evaluation of recordings through the same front end and estimator as the node.

The data's way: bags -> run (front end, estimator) -> log, run record -> metrics.json, samples.csv
and the report's page (`report`, `page_data`, files in `page/`); `evaluate_command` is the command
line. `rosbags` is imported by `bags` alone, jinja2 by `report`, matplotlib by `figures` and its
`canvas`, which a run needs for --figures alone.
"""
