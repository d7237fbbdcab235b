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

"""Settings of what the node publishes, saves and records."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting


@dataclass(frozen=True)
class Output(Section):
    """What the node publishes, saves and records."""

    NAME = "output"
    frame: str = setting("flu", "Axes of published wrenches and accelerations.",
                         choices=("flu", "frd"))
    base_frame: str = setting("base_link", "frame_id of published wrenches and accelerations; with "
                                           "frame 'frd', '_frd' is appended.")
    directory: str = setting(
        "~/.ros/uvms_adaptive_dynamics",
        "The only directory the node writes to; it has one folder for each namespace and robot.")
    file: str = setting("parameters.yaml", "File that ~/save writes and ~/load reads, in the "
                                           "robot's folder.")
    save_period: float = setting(
        20.0, "Longest stretch of learning that a kill or a power cut may cost: the state is saved "
              "twice per period and at exit. 0: never save.", "s", 0.0, 3600.0)
    record: str = setting(
        "", "Record received messages into this bag (a new folder; '{time}' is replaced by the "
            "start time); 'auto': recordings/{time} in the robot's folder; empty: do not record.")
    parameters_period: float = setting(
        0.0, "Minimum time between messages of parameters and their status; a change of state is "
             "published at once. 0: publish every estimate.", "s", 0.0, 10.0)
    covariance_period: float = setting(1.0, "Minimum time between covariance messages.", "s", 0.0)
    diagnostics_period: float = setting(1.0, "Time between diagnostics messages.", "s", 0.1)
    review_period: float = setting(
        45.0, "Time between reviews of the last three minutes, in a separate process: which "
              "setting, wire or effect explains what the estimate leaves. 0: none.",
        "s", 0.0, 3600.0)
