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

"""What the node publishes, saves and records."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting


@dataclass(frozen=True)
class Output(Section):
    """What the node publishes, saves and records."""

    NAME = "output"
    frame: str = setting("flu", "Axes of published wrenches and accelerations.",
                         choices=("flu", "frd"))
    base_frame: str = setting("base_link", "frame_id in FLU; with 'frd' it is followed by '_frd'.")
    directory: str = setting(
        "~/.ros/uvms_adaptive_dynamics",
        "The one directory that the node writes to; in it is a folder for each namespace and "
        "robot.")
    file: str = setting("parameters.yaml", "File of ~/save and ~/load in the robot's folder.")
    save_period: float = setting(
        20.0, "What a kill or a power cut may cost: the state is saved twice in that time, and at "
              "exit. 0: never.", "s", 0.0, 3600.0)
    record: str = setting(
        "", "Record what the node receives into this bag (a folder that does not exist yet; "
            "'{time}' in it is the time of the start); 'auto': recordings/{time} in the robot's "
            "folder; empty: no.")
    parameters_period: float = setting(
        0.0, "Least time between messages of parameters and their status, but for a change of "
             "state; 0: at every estimate.", "s", 0.0, 10.0)
    covariance_period: float = setting(1.0, "Time between covariance messages.", "s", 0.0)
    diagnostics_period: float = setting(1.0, "Time between diagnostics.", "s", 0.1)
