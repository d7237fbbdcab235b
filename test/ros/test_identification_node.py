"""The identification node over real DDS: arming, and every cause of a stop within 100 ms."""
import importlib.util
import json
import signal
import time

import numpy as np
import pytest

if importlib.util.find_spec("rclpy") is None:
    pytest.skip("rclpy is not installed", allow_module_level=True)

from ros_bus import bus, process  # noqa: I001, E402  (first: it sets the domain)
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from flying import LATCHED, FakeEstimator, FakeVehicle  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from std_msgs.msg import Empty, Float64MultiArray  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

from uvms_adaptive_dynamics.errors import ConfigError  # noqa: E402
from uvms_adaptive_dynamics.ros.identification_node import IdentificationNode  # noqa: E402

NODE = "uvms_identification"
WITHIN = 0.1        # [s] from when a cause can be known to the first command that is less
SETTINGS = {"identification.move": True, "identification.ramp": 0.2,
            "identification.heartbeat": 0.0, "battery.enabled": True,
            "identification.least_voltage": 13.2, "identification.dvl_timeout": 0.5,
            "identification.depth_timeout": 0.5, "identification.estimator_timeout": 1.0,
            "identification.joint_error": 6.0, "excitation.yaw_turns": 5.0}
LATENCIES = {}


class Robot:
    """The node under test with all that it needs: `armed()` arms it and waits until it commands
    something, which grows as long as nothing stops it."""

    def __init__(self, ros, directory, dry_run=False, **settings):
        self.ros = ros
        self.vehicle, self.estimator = FakeVehicle(ros.operator), FakeEstimator(ros.operator)
        self.commands, self.torques, self.status = [], [], []
        self._hear = ros.operator.create_subscription(
            Float64MultiArray, "/thruster_input", lambda m: self.commands.append(
                (time.monotonic(), float(np.abs(np.array(m.data) - 1500.0).sum()))), 10)
        ros.operator.create_subscription(
            Float64MultiArray, "/joint_effort_input",
            lambda m: self.torques.append(np.abs(m.data).sum()), 10)
        ros.operator.create_subscription(DiagnosticArray, f"/{NODE}/status", self._on_status,
                                         LATCHED)
        values = {**SETTINGS, **settings, "output.directory": str(directory)}
        self.node = IdentificationNode(
            dry_run, context=ros.context, use_global_arguments=False,
            parameter_overrides=[Parameter(name, value=value) for name, value in values.items()])
        self.node.begin()
        self.node._designer.start = lambda *_: None     # holding station is enough here
        ros.executor.add_node(self.node)

    def _on_status(self, message):
        self.status.append({v.key: v.value for v in message.status[0].values}
                           | {"said": message.status[0].message})

    def call(self, service, kind=Trigger, **request):
        return self.ros.call(kind, f"{NODE}/{service}", kind.Request(**request))

    def arm(self, data=True):
        return self.call("arm", SetBool, data=data)

    def armed(self):
        answers = []

        def try_it():
            answers.append(self.arm())
            return answers[-1].success
        try:
            self.ros.until(try_it, 20.0, "arming")
        except AssertionError as error:
            raise AssertionError(f"{error}: {answers[-1].message}") from None
        self.commands.clear()
        self.vehicle.heading = 0.1      # what it has to turn against, the longer the more
        self.ros.until(lambda: self.commands and self.commands[-1][1] > 30.0, what="a command")
        return answers[-1].message

    def stopped(self, since):
        """[s] from `since` to the first command of the way to neutral, once it is reached."""
        self.ros.until(lambda: self.status[-1]["state"] == "disarmed", 10.0, "the stop")
        times, sizes = (np.array(x) for x in zip(*self.commands))
        # It grows by the integral until it falls: after the last that is not below its forerunner.
        falls = np.flatnonzero(np.diff(sizes) < -0.02 * sizes.max())
        assert sizes[-1] == 0.0 and self.torques[-1] == 0.0
        first = falls[falls >= np.searchsorted(times, since) - 1][0] + 1
        steps = -np.diff(sizes[first - 1:])
        assert steps.max() < 0.4 * sizes.max(), "a ramp, not a step"
        assert not self.node.flight.pilot.armed
        return times[first] - since

    def close(self):
        self.vehicle.stop()
        self.ros.executor.remove_node(self.node)
        self.node.close()


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    with bus() as ros:
        made = Robot(ros, tmp_path_factory.mktemp("out"))
        yield made
        made.close()


def after(robot, role, timeout):
    """Nothing more of a sensor: it is late from `timeout` after its last message on."""
    robot.vehicle.silent = {role}
    time.sleep(0.02)        # a message on its way
    return robot.vehicle.sent[role] + timeout


def at_next(robot, role, **values):
    """A sensor measures something else from its next message on."""
    for name, value in values.items():
        setattr(robot.vehicle, name, value)
    before = robot.vehicle.sent[role]
    robot.ros.until(lambda: robot.vehicle.sent[role] > before)
    return robot.vehicle.sent[role]


def published(robot, kind, topic):
    publisher = robot.ros.publisher(kind, topic, 10)
    since = time.monotonic()
    publisher.publish(kind())
    robot.ros.operator.destroy_publisher(publisher)
    return since


def called(robot, service, kind=Trigger, **request):
    since = time.monotonic()
    robot.call(service, kind, **request)
    return since


def unheard(robot):
    robot.ros.operator.destroy_subscription(robot._hear)
    return time.monotonic()


def contested(robot):
    robot.ros.operator.create_publisher(Float64MultiArray, "/thruster_input", 1)
    return time.monotonic()


def no_estimator(robot):
    robot.estimator.silent = True
    return robot.estimator.said + 1.0


def failed_estimator(robot):
    robot.estimator.state = "failed"
    robot.estimator.say()
    return time.monotonic()


CAUSES = {
    "stale_imu": lambda r: after(r, "imu", 0.25),
    "stale_dvl": lambda r: after(r, "dvl", 0.5),
    "stale_joint_states": lambda r: after(r, "joint_states", 0.25),
    "stale_depth": lambda r: after(r, "depth", 0.5),
    "depth": lambda r: at_next(r, "depth", depth=0.3),
    "joint_range": lambda r: at_next(r, "joint_states", mu=np.array([3.0, 1.7, 1.7, 7.0])),
    "joint_speed": lambda r: at_next(r, "joint_states", mu_dot=np.array([3.0, 0, 0, 0])),
    "rate": lambda r: at_next(r, "imu", rate=2.0),
    "speed": lambda r: at_next(r, "dvl", speed=8.0 / 1.8),
    "battery": lambda r: at_next(r, "battery", voltage=12.0) + 2.0,
    "abort_topic": lambda r: published(r, Empty, f"/{NODE}/abort"),
    "abort_service": lambda r: called(r, "abort"),
    "disarmed": lambda r: called(r, "arm", SetBool, data=False),
    "estimator_failed": failed_estimator,
    "estimator_silent": no_estimator,
}


@pytest.mark.parametrize("code", CAUSES)
def test_a_cause_stops_the_robot_within_a_tenth_of_a_second(robot, code):
    """To neutral by a ramp; status and the next answer of ~/arm say why, and it does not arm
    itself again when the cause is gone."""
    robot.armed()
    since = CAUSES[code](robot)
    LATENCIES[code] = robot.stopped(since)
    assert LATENCIES[code] < WITHIN
    assert robot.status[-1]["cause"] == code, robot.status[-1]
    robot.vehicle.reset()
    robot.estimator.silent, robot.estimator.state = False, "learning"
    robot.estimator.say()
    heard = len(robot.commands)
    robot.ros.until(lambda: robot.node.flight.at_rest, what="the last neutral command")
    sentence = robot.node.flight.pilot.cause.sentence
    robot.ros.until(lambda: not robot.node.flight._causes(time.monotonic(), False),
                    what="nothing that forbids to arm")
    assert robot.status[-1]["armed"] == "false"
    assert sentence in robot.armed()
    robot.arm(False)
    robot.ros.until(lambda: robot.node.flight.at_rest)
    assert all(size == 0.0 for _, size in robot.commands[-3:]) and heard


def test_commands_end_when_nobody_listens_or_somebody_else_speaks(robot):
    """A subscriber that is gone, a second publisher; the other one is named when arming."""
    robot.armed()
    since = contested(robot)
    LATENCIES["other_publisher"] = robot.stopped(since)
    assert LATENCIES["other_publisher"] < WITHIN
    robot.ros.until(lambda: robot.node.flight.at_rest)
    robot.vehicle.reset()
    answer = robot.arm()
    assert not answer.success and "/operator" in answer.message


def test_it_stops_when_its_subscriber_is_lost(tmp_path):
    """The joints' commands show it: the thrusters' nobody hears."""
    with bus() as ros:
        robot = Robot(ros, tmp_path)
        try:
            robot.armed()
            since = unheard(robot)
            ros.until(lambda: robot.status[-1]["cause"] == "no_subscriber", 5.0)
            LATENCIES["no_subscriber"] = time.monotonic() - since
            assert LATENCIES["no_subscriber"] < WITHIN
        finally:
            robot.close()


def test_the_dead_man_s_switch(tmp_path):
    """It has to be pressed again and again."""
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


def test_it_moves_nothing_unless_allowed(tmp_path):
    """By default, and in a dry run; a robot without a vehicle is refused."""
    with bus() as ros:
        robot = Robot(ros, tmp_path, **{"identification.move": False})
        try:
            ros.until(lambda: robot.node.flight._state is not None)
            answer = robot.arm()
            assert not answer.success and "'identification.move' is false" in answer.message
            assert not robot.commands
        finally:
            robot.close()
        with pytest.raises(ConfigError, match="'robot.vehicle' is false; expected a vehicle"):
            IdentificationNode(context=ros.context, use_global_arguments=False,
                               parameter_overrides=[Parameter("robot.vehicle", value=False)])


def test_a_signal_takes_the_robot_to_neutral_before_the_process_ends(tmp_path):
    """SIGINT: the ramp begins at once, and the process ends with 0 after neutral commands."""
    with bus() as ros:
        vehicle, estimator = FakeVehicle(ros.operator), FakeEstimator(ros.operator)
        commands = []
        ros.operator.create_subscription(
            Float64MultiArray, "/thruster_input", lambda m: commands.append(
                (time.monotonic(), float(np.abs(np.array(m.data) - 1500.0).sum()))), 10)
        ros.collect(Float64MultiArray, "/joint_effort_input", 10)
        node = process("uvms_adaptive_dynamics.ros.identification_node", "--ros-args", "-p",
                       "identification.move:=true", "-p", "identification.ramp:=0.2", "-p",
                       f"output.directory:={tmp_path}")
        try:
            ros.until(lambda: ros.call(SetBool, f"{NODE}/arm", SetBool.Request(
                data=True)).success, 60.0, "arming")
            vehicle.heading = 0.1
            ros.until(lambda: commands and commands[-1][1] > 30.0)
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


def teardown_module():
    print("\nlatencies [ms]:", json.dumps({k: round(1e3 * v) for k, v in LATENCIES.items()}))
