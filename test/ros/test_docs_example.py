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

"""The script of docs/feedforward.md that computes efforts from the estimator's topics."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from launch_prefix import environment
from ros_bus import DOMAIN, bus
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from uvms_adaptive_dynamics import RobotModel, State, inverse_dynamics
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.ros.messages import covariance_message
from uvms_adaptive_dynamics.ros.topic_qos import LATCHED

ROOT = Path(__file__).resolve().parents[2]


def test_the_script_of_the_docs_prints_the_efforts(tmp_path):
    """Those of `inverse_dynamics` with the parameters on the topics."""
    script, = (block for block in re.findall(r"^```python\n(.*?)^```$", (
        ROOT / "docs" / "feedforward.md").read_text(), re.MULTILINE | re.DOTALL)
        if "rclpy.init" in block)
    (tmp_path / "controller.py").write_text(script)
    shutil.copy(ROOT / "config" / "bluerov2_alpha5.yaml", tmp_path / "my_robot.yaml")
    robot = RobotModel.from_config(Config())
    values = prior_from_config(Config(), robot).values
    covariance = 0.01 * np.eye(len(values))
    with bus() as ros:
        for kind, name, message in (
                (JointState, "parameters",
                 JointState(name=list(robot.table.names), position=values.tolist())),
                (Float64MultiArray, "covariance",
                 covariance_message(1.0, robot.table.names, covariance))):
            topic = f"uvms_estimator/trusted_{name}"
            ros.operator.create_publisher(kind, topic, LATCHED).publish(message)
        done = subprocess.run([sys.executable, "controller.py"], cwd=tmp_path, text=True,
                              capture_output=True, check=False, timeout=60,
                              env=environment(ROS_DOMAIN_ID=str(DOMAIN)))
    assert done.returncode == 0, done.stderr
    printed = np.array(re.findall(r"-?\d+\.\d*(?:e[-+]\d+)?", done.stdout), float)
    state = State(np.eye(3), np.array([0.3, 0, 0, 0, 0, 0]), np.full(4, 1.5), np.zeros(4))
    efforts = inverse_dynamics(robot, state, np.zeros(6), np.zeros(4), values, covariance)
    np.testing.assert_allclose(
        printed, [*efforts.tau, *np.sqrt(np.diag(efforts.covariance))], rtol=1e-6, atol=1e-6)
