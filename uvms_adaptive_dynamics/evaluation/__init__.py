# Copyright 2026 uvms_adaptive_dynamics developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Offline evaluation of recordings through the same front end and estimator as the node.

Data flow: bags -> run (front end, estimator) -> log, run record -> metrics.json, samples.csv and
the report (`report`, `page_data`, files in `page/`); `evaluate_command` is the command line. Only
`bags` imports rosbags and only `report` jinja2; matplotlib is needed only for --figures, by
`figures` and its `canvas`.
"""
