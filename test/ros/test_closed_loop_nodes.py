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

"""The simulated robot's inputs and the example controller over real topics."""
import contextlib
import importlib.util

import numpy as np
import pytest

if importlib.util.find_spec("rclpy") is None:
    pytest.skip("rclpy is not installed", allow_module_level=True)

import ros_bus  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.estimation.estimator import Estimator  # noqa: E402
from uvms_adaptive_dynamics.model.dynamics import State  # noqa: E402
from uvms_adaptive_dynamics.model.prior import prior_from_config  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.ros.demo.controller import ControllerNode  # noqa: E402
from uvms_adaptive_dynamics.ros.messages import parameters_message  # noqa: E402
from uvms_adaptive_dynamics.ros.topic_qos import LATCHED  # noqa: E402

PACKAGE = "uvms_adaptive_dynamics.ros.demo"


@contextlib.contextmanager
def running(module, *parameters):
    """A node as a process, stopped in any case."""
    words = [word for parameter in parameters for word in ("-p", parameter)]
    process = ros_bus.process(f"{PACKAGE}.{module}", "--ros-args", *words)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def bus():
    with ros_bus.bus() as made:
        yield made


def test_a_wrench_moves_the_thrusters_until_it_is_silent(bus):
    """A push to the left (FLU) and up changes the PWM of every thruster; garbage is refused without
    effect; after the timeout all thrusters are neutral. ~/grip picks up and drops."""
    heard = bus.collect(Float64MultiArray, "thruster_commands", qos_profile_sensor_data)
    with running("simulated_robot", "input_timeout:=1.0") as process:
        wrench = bus.publisher(WrenchStamped, "wrench_input", 10)
        efforts = bus.publisher(Float64MultiArray, "joint_effort_input", 10)
        bus.until(lambda: heard, what="the simulated robot")
        push = WrenchStamped()
        push.wrench.force.y, push.wrench.force.z = 20.0, 20.0
        wrench.publish(push)
        efforts.publish(Float64MultiArray(data=[1.0]))
        pwm = lambda k: list(heard[k].data) if len(heard) >= -k else None
        bus.until(lambda: pwm(-1) == pwm(-3) != [1500.0] * 8, what="the wrench")
        pushing = pwm(-1)
        # FRD rows of the allocation: Y is - + - + on thrusters 1-4, Z - + + - on 5-8.
        assert pushing[0] > 1500 > pushing[1] and pushing[2] > 1500 > pushing[3]
        assert pushing[4] > 1500 > pushing[5] and pushing[7] > 1500 > pushing[6]
        bus.until(lambda: pwm(-1) == [1500.0] * 8, what="neutral after the timeout")
        for held in (True, False):
            answer = bus.call(SetBool, "simulated_robot/grip", SetBool.Request(data=held))
            assert answer.success and ("0.38 kg" in answer.message) == held
        process.terminate()
        said = process.communicate(timeout=30)[0]
    assert "'joint_effort_input' refused" in said and "expected 4 finite ones" in said


def test_the_controller_follows_and_takes_trusted_parameters(bus):
    """Without an estimator the prior is used, then trusted parameters once they arrive; the run
    ends after its duration with a summary of small errors."""
    estimator = Estimator(Config())
    message = JointState(name=list(estimator.table.names), position=estimator.pi.tolist())
    joints = bus.collect(JointState, "joint_states", qos_profile_sensor_data)
    publisher = bus.operator.create_publisher(JointState, "uvms_estimator/trusted_parameters",
                                              LATCHED)
    with running("simulated_robot", "seed:=1"), \
            running("controller", "seed:=1", "duration:=4.0") as controller:
        def over():
            if joints:
                message.header.stamp = joints[-1].header.stamp
                publisher.publish(message)
                joints.clear()
            return controller.poll() is not None
        bus.until(over, timeout=60.0, what="the controller's end")
        said = controller.stdout.read()
    assert controller.returncode == 0 and "4 s are over" in said, said
    rows = [line.split() for line in said.splitlines() if " .. " in line]
    assert len(rows) == 4 and "trusted" in " ".join(rows[-1]), said
    assert float(rows[-1][3]) < 500.0, said


def test_a_feedforward_of_another_name_is_refused():
    """The error gives got and the choices."""
    with running("controller", "feedforward:=magic") as process:
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 1 and "'magic', expected one of adapted, prior, none" in said


def test_parameters_that_cannot_be_used_end_the_controller_s_trust(bus):
    """Parameters of another robot or not finite: the prior is used until usable ones arrive."""
    node = ControllerNode(context=bus.context, use_global_arguments=False)
    model = RobotModel.from_config(Config())
    names, prior = model.table.names, prior_from_config(Config(), model).values
    state = State(np.eye(3), np.zeros(6), np.full(4, 1.0), np.zeros(4))

    def source(t):
        return node._feedforward.efforts(t, state, np.zeros(6), np.zeros(4)).source
    try:
        for bad in (parameters_message(20.0, names[:3], np.ones(3), np.ones(3)),
                    JointState(name=names, position=np.full(len(names), np.nan))):
            node._learn(parameters_message(10.0, names, prior, prior))
            assert source(10.0) == "trusted"
            node._learn(bad)
            assert source(10.0) == "prior"
    finally:
        node.destroy_node()
