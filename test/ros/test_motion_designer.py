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

"""A design that cannot begin is an error with a reason, like one that fails."""
import importlib.util

import pytest

if importlib.util.find_spec("rclpy") is None:
    pytest.skip("rclpy is not installed", allow_module_level=True)

from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.control.guide import Request, StageView  # noqa: E402
from uvms_adaptive_dynamics.errors import ParameterError  # noqa: E402
from uvms_adaptive_dynamics.model.prior import prior_from_config  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.ros.design_process import TRAJECTORY_FILE  # noqa: E402
from uvms_adaptive_dynamics.ros.motion_designer import MotionDesigner  # noqa: E402

CONFIG = Config()


def start(folder):
    designer = MotionDesigner(CONFIG, None, folder)
    designer.start(prior_from_config(CONFIG, RobotModel.from_config(CONFIG)), ["axis_b.fv"],
                   Request(StageView("arm", "the arm", ("axis_b",)), 1), 5.0)
    return designer


def test_a_folder_in_place_of_the_motion(tmp_path):
    """The last motion cannot be removed: the error names it."""
    (tmp_path / TRAJECTORY_FILE).mkdir()
    with pytest.raises(ParameterError, match=f"{TRAJECTORY_FILE}' cannot be replaced: Is a dir"):
        start(tmp_path)


def test_a_process_that_cannot_begin(tmp_path, monkeypatch):
    """As without `nice`, or when the machine has no memory for another process."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ParameterError, match="no process for the design can begin: FileNotFound"):
        start(tmp_path)
