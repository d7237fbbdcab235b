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

"""Settings of the package as frozen dataclasses, and how ROS parameter files are read into them."""
from .control import Feedforward
from .estimation import SOLVER_NAMES, Estimation, Filter, Limits, Uncertainty
from .excitation import Excitation
from .files import NODE_NAME, ROS_OWN, flatten, load_config
from .identification import Identification
from .live import LIVE, LIVE_BY_NODE, Fixed, FixedSettings, fixed_in, fixed_in_identify
from .output import Output
from .robot import AUTO, Prior, Robot
from .sensors import Battery, Depth, Dvl, Imu, Joints
from .thrusters import Thrusters
from .twin import Twin
from .whole import Config

__all__ = [
    "AUTO", "LIVE", "LIVE_BY_NODE", "NODE_NAME", "ROS_OWN", "SOLVER_NAMES", "Battery", "Config",
    "Depth", "Dvl", "Estimation", "Excitation", "Feedforward", "Filter", "Fixed", "FixedSettings",
    "Identification", "Imu", "Joints", "Limits", "Output", "Prior", "Robot", "Thrusters", "Twin",
    "Uncertainty", "fixed_in", "fixed_in_identify", "flatten", "load_config"]
