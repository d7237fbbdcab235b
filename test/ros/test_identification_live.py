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

"""Estimator, identification node and simulated robot as processes: after arming, a motion is
designed and flown for the first stage, and an abort stops the robot."""
import contextlib
import importlib.util
import os
import time

import numpy as np
import pytest

if importlib.util.find_spec("rclpy") is None:
    pytest.skip("rclpy is not installed", allow_module_level=True)

from ros_bus import bus, process  # noqa: I001, E402  (first: it sets the domain)
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from flying import LATCHED, NODE  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

PACKAGE = "uvms_adaptive_dynamics.ros"
# The cheapest design that there is.
SETTINGS = {"estimation.schedule": "guided", "identification.move": "true",
            "excitation.starts": 1, "excitation.iterations": 0, "excitation.draws": 1,
            "excitation.duration": 30.0, "identification.design_time": 2.0}


@contextlib.contextmanager
def running(module, **parameters):
    words = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    made = process(f"{PACKAGE}.{module}", "--ros-args", *words)
    try:
        yield made
    finally:
        made.terminate()
        made.communicate(timeout=30)


@pytest.mark.skipif(os.environ.get("UVMS_LIVE") != "all", reason="three processes in real time "
                    "want a machine at rest: UVMS_LIVE=all")
def test_a_guided_run_on_the_simulated_robot(tmp_path):
    """No intervention between ~/arm and ~/abort."""
    settings = {**SETTINGS, "output.directory": tmp_path}
    with bus() as ros, running("demo.simulated_robot", waits="true"), \
            running("node", **settings), running("identification_node", **settings):
        status, joints = [], ros.collect(JointState, "/joint_states", qos_profile_sensor_data)
        pwm = ros.collect(Float64MultiArray, "/thruster_commands", qos_profile_sensor_data)

        def hear(message):
            said = message.status[0]
            status.append({v.key: v.value for v in said.values} | {"said": said.message})
        ros.operator.create_subscription(DiagnosticArray, f"/{NODE}/status", hear, LATCHED)
        stages = []
        ros.operator.create_subscription(
            DiagnosticArray, "/uvms_estimator/stage", lambda message: stages.append(
                {v.key: v.value for v in message.status[0].values}), LATCHED)
        arm = ros.operator.create_client(SetBool, f"{NODE}/arm")
        ros.until(lambda: status and arm.service_is_ready(), 60.0, "a status")
        # three processes that start are not at rest, nor has DDS told each of all others
        started = time.monotonic()
        ros.until(lambda: time.monotonic() > started + 10.0)
        answers = []

        def armed():
            """Arm, with retries: an answer may be lost right after a service is discovered."""
            if not answers or answers[-1].done() or time.monotonic() > started + 3.0 * len(answers):
                answers.append(arm.call_async(SetBool.Request(data=True)))
            return status[-1]["armed"] == "true"
        started = time.monotonic()
        ros.until(armed, 30.0, "arming")
        assert status[-1]["stage"] == "hover" and float(stages[-1]["elapsed"]) < 2.0
        ros.until(lambda: status[-1]["armed"] == "false" or float(status[-1]["motion done"]) > 0,
                  60.0, "a motion")
        assert status[-1]["state"] == "moving", status[-1]
        assert status[-1]["stage"] == "arm" and "stage 2 of 5" in status[-1]["said"]
        start = len(joints)
        ros.until(lambda: len(joints) > start + 300)
        moved = np.ptp([message.position for message in joints[start:]], axis=0)
        assert moved.max() > 0.1 and status[-1]["armed"] == "true", status[-1]
        assert any(tmp_path.rglob("trajectory.yaml"))
        ros.until(lambda: any("this motion promises" in each["promise"] for each in status), 90.0,
                  "the promise")
        assert ros.call(Trigger, f"{NODE}/abort").message.startswith("Stopped")
        ros.until(lambda: status[-1]["state"] == "disarmed", 10.0, "the stop")
        ros.until(lambda: set(pwm[-1].data) == {1500.0}, 5.0, "neutral")
        assert status[-1]["cause"] == "abort_service"
