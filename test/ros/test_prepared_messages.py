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

"""Messages prepared as bytes arrive as those built from Python objects."""
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import deserialize_message

from uvms_adaptive_dynamics import Config, RobotModel
from uvms_adaptive_dynamics.control.feedforward import FeedforwardEfforts
from uvms_adaptive_dynamics.ros import messages
from uvms_adaptive_dynamics.ros.feedforward_outputs import (
    FEEDFORWARD_CLASSES,
    FeedforwardPublishers,
)
from uvms_adaptive_dynamics.signals.topics import FEEDFORWARD_OUTPUTS

T = 1795916825.807493


def built(efforts, motion, config, robot):
    """The messages of all outputs, by name."""
    vehicle, arm, output = robot.vehicle_rows, robot.arm_rows, config.output
    wrench = messages.wrench_message(T, efforts.tau[vehicle], output)
    return {"wrench": wrench, "wrench_reference": wrench.wrench,
            "wrench_stddev": messages.wrench_stddev_message(T, efforts.stddev[vehicle], output),
            "joint_efforts": messages.effort_message(T, robot.joints, efforts.tau[arm]),
            "joint_stddev": messages.effort_message(T, robot.joints, efforts.stddev[arm]),
            "arm_reaction": messages.wrench_message(T, efforts.arm_reaction, output),
            "velocity": messages.twist_message(T, motion.state.nu, output),
            "acceleration": messages.acceleration_message(T, motion.nu_dot, output),
            "accelerations": messages.twist_message(T, motion.nu_dot, output)}


@pytest.mark.parametrize("frame", ["flu", "frd"])
@pytest.mark.parametrize("unknown", [(), (7,)], ids=["all finite", "a joint without a number"])
def test_they_are_the_built_messages(ros, frame, unknown):
    """Every output arrives with the length and all digits of the message that its builder returns.
    (Bytes that align the numbers have no meaning, and are not initialized by the middleware.)"""
    config = Config().with_values({"output.frame": frame, "output.base_frame": "a/base"})
    robot, rng = RobotModel.from_config(config), np.random.default_rng(3)
    tau, stddev = rng.normal(size=10), rng.uniform(size=10)
    tau[0], tau[1] = 0.0, -0.0
    tau[list(unknown)] = stddev[list(unknown)] = np.nan
    efforts = FeedforwardEfforts(tau, stddev, "trusted", 0.0, rng.normal(size=6))
    motion = SimpleNamespace(state=SimpleNamespace(nu=rng.normal(size=6)),
                             nu_dot=rng.normal(size=6))
    publishers, came, expected = FeedforwardPublishers(ros.operator, config, robot), {}, {}

    def hear(kind, topic, name, found):
        ros.operator.create_subscription(
            kind, topic, lambda data: found.update(
                {name: (len(data), repr(deserialize_message(data, kind)))}), 1, raw=True)
    for output in FEEDFORWARD_OUTPUTS:
        if output.name == "status":
            continue
        kind = FEEDFORWARD_CLASSES[output.type]
        hear(kind, f"~/{output.name}", output.name, came)
        hear(kind, f"built/{output.name}", output.name, expected)
    for name, message in built(efforts, motion, config, robot).items():
        ros.publisher(type(message), f"built/{name}", 1).publish(message)

    def all_heard():
        publishers.look_around()
        publishers.efforts(T, efforts)
        publishers.motion(T, motion)
        return len(came) == len(expected) == len(FEEDFORWARD_OUTPUTS) - 1
    ros.until(all_heard)
    assert came == expected


def test_no_efforts_of_a_vehicle_that_are_not_finite(ros):
    """A wrench with NaN is not published."""
    config = Config()
    robot, heard = RobotModel.from_config(config), []
    publishers = FeedforwardPublishers(ros.operator, config, robot)
    ros.operator.create_subscription(FEEDFORWARD_CLASSES["geometry_msgs/msg/WrenchStamped"],
                                     "~/wrench", heard.append, 10)
    tau = np.zeros(10)

    def said(first):
        tau[0] = first
        publishers.look_around()
        publishers.efforts(T, FeedforwardEfforts(tau, tau, "trusted", 0.0, np.zeros(6)))
        return heard
    ros.until(lambda: said(0.0))
    heard.clear()
    for _ in range(5):
        said(np.nan)
    ros.until(lambda: said(1.0) and heard[-1].wrench.force.x == 1.0)
    assert {message.wrench.force.x for message in heard} <= {0.0, 1.0}
