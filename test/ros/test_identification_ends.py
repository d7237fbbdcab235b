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

"""The identification node over real DDS: required subscribers, dead man's switch, signals, and
behaviour when it must not move."""
import importlib.util
import os
import signal
import time

import numpy as np
import pytest

if importlib.util.find_spec("rclpy") is None:
    pytest.skip("rclpy is not installed", allow_module_level=True)

from ros_bus import bus, process  # noqa: I001, E402  (first: it sets the domain)
from flying import NODE, STAGE, FakeEstimator, FakeVehicle, Robot, size_of  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from std_msgs.msg import Empty, Float64MultiArray, String  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from uvms_adaptive_dynamics.errors import ConfigError  # noqa: E402
from uvms_adaptive_dynamics.ros.identification_node import IdentificationNode  # noqa: E402

# [s] from when a cause can be known to the first reduced command: idle, and alongside tests
WITHIN = 0.1 if os.environ.get("UVMS_LIVE") == "all" else 2.0
LATENCIES = {}
OWN_DOMAIN = "101"      # above those of `ros_bus`, below the ports that a system gives away


@pytest.fixture(scope="module", autouse=True)
def dry_run(tmp_path_factory):
    """Process of a dry run in a domain of its own; it has nothing to show and warns every 5 s while
    other tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", OWN_DOMAIN)
        node = process("uvms_adaptive_dynamics.ros.identification_node", "--dry-run", "--ros-args",
                       "-p", f"output.directory:={tmp_path_factory.mktemp('dry')}")
    yield node
    node.kill()
    node.communicate()


def test_it_stops_when_its_subscriber_is_lost(tmp_path):
    """Observed on the joint commands, since the thruster commands have lost their subscriber."""
    with bus() as ros:
        robot = Robot(ros, tmp_path)
        try:
            robot.armed()
            ros.operator.destroy_subscription(robot._hear)
            since = time.monotonic()
            ros.until(lambda: robot.status[-1]["cause"] == "no_subscriber", 5.0)
            LATENCIES["no_subscriber"] = time.monotonic() - since
            assert LATENCIES["no_subscriber"] < WITHIN
        finally:
            robot.close()


def test_the_dead_man_s_switch(tmp_path):
    """A heartbeat is needed again and again."""
    with bus() as ros:
        robot = Robot(ros, tmp_path, **{"identification.heartbeat": 0.3})
        beat = ros.operator.create_publisher(Empty, f"/{NODE}/heartbeat", 10)
        last = [time.monotonic()]

        def press():
            beat.publish(Empty())
            last[0] = time.monotonic()
        timer = ros.operator.create_timer(0.05, press)
        try:
            robot.armed()
            timer.cancel()
            LATENCIES["heartbeat"] = robot.stopped(last[0] + 0.3)
            assert LATENCIES["heartbeat"] < WITHIN and robot.status[-1]["cause"] == "heartbeat"
        finally:
            robot.close()


def test_stages_wait_until_the_robot_is_armed(tmp_path):
    """The estimator is told once per change (wait, run, wait), and continuously which stage's
    motion is flown."""
    with bus() as ros:
        robot = Robot(ros, tmp_path)
        told, flown = robot.estimator.told, []
        ros.operator.create_subscription(String, "uvms_estimator/flown_stage",
                                         lambda message: flown.append(message.data), 10)
        try:
            ros.until(lambda: told == [False], what="stages that wait")
            robot.armed()
            ros.until(lambda: told == [False, True], what="stages that go on")
            assert flown and set(flown) == {""}         # it holds still
            robot.node._guide.stage_flown = lambda t: "arm"
            ros.until(lambda: flown[-1] == "arm", what="the motion's stage")
            robot.arm(False)
            ros.until(lambda: len(told) == 3, what="stages that wait again")
            assert told == [False, True, False]
        finally:
            robot.close()


def test_it_moves_nothing_unless_allowed(tmp_path):
    """Neither by default nor in a dry run; a robot without a vehicle is refused."""
    with bus() as ros:
        robot = Robot(ros, tmp_path, **{"identification.move": False})
        try:
            ros.until(lambda: robot.node.flight._state is not None)
            answer = robot.arm()
            assert not answer.success and "'identification.move' is false" in answer.message
            assert not robot.commands and not robot.estimator.told
        finally:
            robot.close()
        with pytest.raises(ConfigError, match="'robot.vehicle' is false; expected a vehicle"):
            IdentificationNode(context=ros.context, use_global_arguments=False,
                               parameter_overrides=[Parameter("robot.vehicle", value=False)])
        with pytest.raises(ConfigError, match="'depth.enabled' is false; expected a depth sensor"):
            IdentificationNode(context=ros.context, use_global_arguments=False,
                               parameter_overrides=[Parameter("depth.enabled", value=False)])


def test_an_internal_error_takes_the_robot_to_neutral(tmp_path, monkeypatch):
    """In a look at the stages the node continues and can be armed again; anywhere else on the
    executor it winds down."""
    def fail(*_):
        raise PermissionError(30, "Read-only file system")
    with bus() as ros:
        robot = Robot(ros, tmp_path)
        try:
            robot.armed()
            with monkeypatch.context() as patch:
                patch.setattr(robot.node._guide, "next", fail)
                robot.stopped(time.monotonic())
            assert robot.status[-1]["cause"] == "internal"
            assert "PermissionError" in robot.status[-1]["said"]
            ros.until(lambda: robot.node.flight.at_rest)
            robot.vehicle.heading = 0.0
            robot.armed()
            robot.node.wind_down(ValueError("lost"))
            assert not robot.node.wound_down
            robot.stopped(time.monotonic())
            assert robot.status[-1]["cause"] == "internal" and "lost" in robot.status[-1]["said"]
            ros.until(lambda: robot.node.wound_down)
        finally:
            robot.close()


def test_the_time_of_the_states_stays_while_the_pilot_is_locked(tmp_path):
    """A look at the stages never loses it halfway, as by a jump of the clock."""
    with bus() as ros:
        robot = Robot(ros, tmp_path)
        flight = robot.node.flight
        try:
            ros.until(lambda: flight.t is not None)
            with flight.lock:
                before = flight.t
                time.sleep(0.1)
                assert flight.t == before
            ros.until(lambda: flight.t > before)
        finally:
            robot.close()


def test_the_permission_to_move_can_be_revoked(tmp_path):
    """It disarms the robot and lets the stages wait; everything else is read at start and refused
    with that reason."""
    with bus() as ros:
        robot = Robot(ros, tmp_path)

        def change(name, value):
            return ros.call(SetParameters, f"/{NODE}/set_parameters", SetParameters.Request(
                parameters=[Parameter(name, value=value).to_parameter_msg()])).results[0]
        try:
            robot.armed()
            for name, value in (("identification.heartbeat", 1.0), ("dvl.timeout", 0.5)):
                assert "the node identify reads it at start" in change(name, value).reason
            assert change("identification.move", True).successful   # as it is
            assert robot.node.flight.pilot.armed
            since = time.monotonic()
            assert change("identification.move", False).successful
            assert robot.stopped(since) < WITHIN
            assert robot.status[-1]["cause"] == "disarmed"
            answer = robot.arm()
            assert not answer.success and "'identification.move' is false" in answer.message
            assert not change("identification.move", True).successful
            ros.until(lambda: robot.estimator.told[-1] is False, what="stages that wait")
        finally:
            robot.close()


def test_a_signal_takes_the_robot_to_neutral_before_the_process_ends(tmp_path):
    """SIGINT starts the ramp at once, and the process exits with 0 after neutral commands."""
    with bus() as ros:
        vehicle, estimator = FakeVehicle(ros.operator), FakeEstimator(ros.operator)
        commands = []
        ros.operator.create_subscription(
            Float64MultiArray, "/thruster_input", lambda m: commands.append(
                (time.monotonic(), size_of(m))), 10)
        ros.collect(Float64MultiArray, "/joint_effort_input", 10)
        node = process("uvms_adaptive_dynamics.ros.identification_node", "--ros-args", "-p",
                       "identification.move:=true", "-p", "identification.ramp:=0.2", "-p",
                       f"output.directory:={tmp_path}")
        try:
            ros.until(lambda: ros.call(SetBool, f"{NODE}/arm", SetBool.Request(
                data=True)).success, 60.0, "arming")
            vehicle.heading = 0.1
            ros.until(lambda: commands and commands[-1][1] > 2.0)
            since = time.monotonic()
            node.send_signal(signal.SIGINT)
            ros.until(lambda: node.poll() is not None, 20.0, "the end of the process")
            said = node.stdout.read()
            assert node.returncode == 0, said
            times, sizes = (np.array(x) for x in zip(*commands))
            falls = np.flatnonzero(np.diff(sizes) < -0.02 * sizes.max()) + 1
            LATENCIES["shutdown"] = times[falls[times[falls] >= since][0]] - since
            assert LATENCIES["shutdown"] < WITHIN and sizes[-1] == 0.0
            assert "the node was asked to end" in said
        finally:
            vehicle.stop()
            node.kill()
            print(estimator.state)


def test_a_dry_run_says_what_it_waits_for(dry_run):
    """Without estimator and sensors it warns every 5 s until it is stopped."""
    said, since = [], time.monotonic()
    while len(said) < 2 and time.monotonic() - since < 60.0:
        line = dry_run.stdout.readline()
        said += [line] if "waiting for" in line else []
    assert len(said) == 2 and all("Nothing to show yet" in line for line in said)
    dry_run.send_signal(signal.SIGINT)
    assert dry_run.wait(20.0) == 0


def test_a_dry_run_shows_the_first_motion_of_the_schedule(tmp_path):
    """The first stage waits for ~/arm and holds still; the motion after it is what an operator
    wants to see. A node that does not know the schedule says so."""
    still = {**STAGE, "stage": "hover", "title": "holding still", "move": "", "free": "X_u"}
    with bus() as ros:
        robot, asked = Robot(ros, tmp_path, stage=still, **{"estimation.schedule": "guided"}), []
        try:
            robot.node._designer.start = lambda known, free, request, depth: asked.append(
                (request.stage.name, free))
            answers = []

            def shown():
                answers.append(robot.call("dry_run"))
                return answers[-1].success
            ros.until(shown, what="a motion to show")
            (name, free), = asked
            assert name == "arm" and "axis_b.fv" in free and "after 'holding still'" in (
                answers[-1].message)
            robot.node.config = robot.node.config.with_values({"estimation.schedule": ""})
            assert "expected the estimator's" in robot.call("dry_run").message
        finally:
            robot.close()


def teardown_module():
    print("\nlatencies [ms]:", {k: round(1e3 * v) for k, v in LATENCIES.items()})
