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

"""Recordings with one wrong setting each, and the warning that the frame checks must give.

`python test/frame_cases.py [SEEDS]` runs the whole list on a minute of each seed, and the correct
recordings too.
"""

import copy
import sys
import warnings
from functools import lru_cache
from math import pi
from pathlib import Path
from types import SimpleNamespace as Message

import numpy as np
from kept import kept

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd  # noqa: E402
from uvms_adaptive_dynamics.simulation.faults.stream import Received, with_faults  # noqa: E402
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot  # noqa: E402

ROLES = {
    "imu/data": "imu",
    "dvl/twist": "dvl",
    "depth": "depth",
    "joint_states": "joint_states",
    "thruster_commands": "thrusters",
}


def vector(x):
    return Message(x=float(x[0]), y=float(x[1]), z=float(x[2]))


def decoded(message):
    """(role, message with the fields of its type, receive time [s]) of a simulated message."""
    p, role = message.payload, ROLES[message.topic]
    header = Message(
        stamp=Message(sec=message.stamp // 10**9, nanosec=message.stamp % 10**9), frame_id=""
    )
    if role == "imu":
        q = p["orientation"]
        m = Message(
            header=header,
            orientation=Message(x=q[0], y=q[1], z=q[2], w=q[3]),
            angular_velocity=vector(p["angular_velocity"]),
            linear_acceleration=vector(p["linear_acceleration"]),
        )
    elif role == "dvl":
        covariance = np.diag([*p["linear_variance"], 0, 0, 0]).ravel()
        m = Message(
            header=header,
            twist=Message(twist=Message(linear=vector(p["linear"])), covariance=covariance),
        )
    elif role == "depth":
        m = Message(header=header, fluid_pressure=p["fluid_pressure"])
    elif role == "joint_states":
        m = Message(
            header=header,
            name=list(p["name"]),
            **{k: np.array(p[k]) for k in ("position", "velocity", "effort")},
        )
    else:
        m = Message(data=np.array(p["data"]))
    return role, m, message.receive_time * 1e-9


SHARED = {1: 62.0}  # [s] length of the runs, by seed, whose begin is also a shorter recording
START_NS = 1_767_225_600 * 10**9


@lru_cache(maxsize=2)
def simulated(seed, duration):
    """(messages, truth at 100 Hz) of a run. Faults replace messages and never modify them, so one
    simulation serves all faults."""
    messages, truth = whole(seed, max(duration, SHARED.get(seed, 0.0)))
    end = START_NS + round(duration * 1e9)
    before = truth.t < end * 1e-9
    return [m for m in messages if m.t_ns < end], truth._make(part[before] for part in truth)


@lru_cache(maxsize=2)
def whole(seed, duration):
    def make():
        run = SimulatedRobot(seed, duration, start_ns=START_NS, truth_period=0.01)
        messages = [Received(*decoded(m)[:2], m.receive_time, m.receive_time) for m in run]
        return messages, run.truth()

    return kept(f"seed_{seed}_{duration:g}_s", make)


def recording(seed, duration=62.0, faults=()):
    """Messages of a run, clean or with faults."""
    stream, _ = simulated(seed, duration)
    return [(r.role, r.message, r.t) for r in with_faults(stream, faults, seed)]


def on(role, change):
    """A function on (role, message) that changes a copy of that role's messages in place."""

    def apply(r, m):
        if r == role:
            m = copy.deepcopy(m)
            change(m)
        return m

    return apply


def times(field, factors):
    def change(m):
        value = getattr(m, field)
        if isinstance(value, np.ndarray):
            setattr(m, field, value * factors)
        else:
            for name, factor in factors.items():
                setattr(value, name, getattr(value, name) * factor)

    return change


def dvl_times(**factors):
    return on("dvl", lambda m: times("linear", factors)(m.twist.twist))


def ordered(field, order):
    return lambda m: setattr(m, field, getattr(m, field)[order])


def pressure(f):
    return on("depth", lambda m: setattr(m, "fluid_pressure", f(m.fluid_pressure)))


def scrambled(m):
    q = m.orientation
    q.x, q.y, q.z, q.w = q.w, q.x, q.y, q.z


def joint(*turned):
    return np.array([-1.0 if j in turned else 1.0 for j in range(4)])


XYZ = ("x", "y", "z")
# name: (settings, change of messages, how the first warning begins)
CASES = {
    "imu.frame": ({"imu.frame": "frd"}, None, "imu.frame"),
    "imu.world": ({"imu.world": "ned"}, None, "imu.world"),
    "imu.frame and imu.world": ({"imu.world": "ned", "imu.frame": "frd"}, None, "imu.frame"),
    "imu turned by 90": ({"imu.rpy": (0, 0, pi / 2)}, None, "imu.rpy"),
    "imu turned by -90": ({"imu.rpy": (0, 0, -pi / 2)}, None, "imu.rpy"),
    "imu turned by 180": ({"imu.rpy": (0, 0, pi)}, None, "imu.rpy"),
    "imu pitched by 90": ({"imu.rpy": (0, pi / 2, 0)}, None, "imu.rpy"),
    "imu upside down": ({"imu.rpy": (pi, 0, 0)}, None, "imu."),
    "imu yawed by 10": ({"imu.rpy": (0, 0, pi / 18)}, None, "dvl.rpy"),
    "imu pitched by 10": ({"imu.rpy": (0, pi / 18, 0)}, None, "dvl.rpy"),
    "imu rolled by -10": ({"imu.rpy": (-pi / 18, 0, 0)}, None, "dvl.rpy"),
    "dvl 30 % too fast": ({}, dvl_times(x=1.3, y=1.3, z=1.3), "dvl unit"),
    "dvl 15 % too fast": ({}, dvl_times(x=1.15, y=1.15, z=1.15), "dvl unit"),
    "dvl 30 % too slow": ({}, dvl_times(x=0.7, y=0.7, z=0.7), "dvl unit"),
    "force 20 % too large": (
        {},
        on("imu", times("linear_acceleration", dict.fromkeys(XYZ, 1.2))),
        "imu linear acceleration",
    ),
    "rates in degrees": (
        {},
        on("imu", times("angular_velocity", dict.fromkeys(XYZ, 57.3))),
        "imu angular velocity",
    ),
    "yaw rate's sign": (
        {},
        on("imu", times("angular_velocity", {"z": -1})),
        "imu angular velocity",
    ),
    "pitch rate's sign": (
        {},
        on("imu", times("angular_velocity", {"y": -1})),
        "imu angular velocity",
    ),
    "force's sign": (
        {},
        on("imu", times("linear_acceleration", dict.fromkeys(XYZ, -1))),
        "imu linear acceleration",
    ),
    "force in g": (
        {},
        on("imu", times("linear_acceleration", dict.fromkeys(XYZ, 1 / 9.80665))),
        "imu linear acceleration",
    ),
    "quaternion inverted": ({}, on("imu", times("orientation", dict.fromkeys(XYZ, -1))), "imu"),
    "quaternion w first": ({}, on("imu", scrambled), "imu"),
    "dvl.frame": ({"dvl.frame": "flu"}, None, "dvl.frame"),
    "dvl turned by 90": ({"dvl.rpy": (0, 0, pi / 2)}, None, "dvl.rpy"),
    "dvl turned by 180": ({"dvl.rpy": (0, 0, pi)}, None, "dvl.rpy"),
    "dvl turned by 45": ({"dvl.rpy": (0, 0, pi / 4)}, None, "dvl.rpy"),
    "dvl's place": ({"dvl.xyz": (-0.5, 0.0, 0.3)}, None, "dvl.xyz"),
    "dvl surge's sign": ({}, dvl_times(x=-1), "dvl.frame"),
    "dvl sway's sign": ({}, dvl_times(y=-1), "dvl.frame"),
    "dvl heave's sign": ({}, dvl_times(z=-1), "dvl.frame"),
    "dvl in mm/s": ({"dvl.max_speed": 5000.0}, dvl_times(x=1000, y=1000, z=1000), "dvl unit"),
    "pressure in hPa": ({}, pressure(lambda p: p / 100), "depth unit"),
    "pressure in kPa": ({}, pressure(lambda p: p / 1000), "depth unit"),
    "pressure in bar": ({}, pressure(lambda p: p / 1e5), "depth unit"),
    "pressure relative": ({}, pressure(lambda p: p - 101325), "robot.surface_pressure"),
    "depth's sign": ({}, pressure(lambda p: 2 * 101325 - p), "depth sign"),
    "joint velocity's sign": (
        {},
        on("joint_states", times("velocity", joint(1))),
        "joint velocity",
    ),
    "joint velocity in degrees": (
        {},
        on("joint_states", times("velocity", 57.3 * joint())),
        "joint velocity",
    ),
    "joint velocity's order": (
        {},
        on("joint_states", ordered("velocity", [1, 0, 2, 3])),
        "joint velocity",
    ),
    "joint velocity's order, all": (
        {},
        on("joint_states", ordered("velocity", [1, 2, 3, 0])),
        "joint velocity: the velocities of axis_e, axis_d, axis_c, axis_b are those of axis_d",
    ),
    "effort's order, two": (
        {},
        on("joint_states", ordered("effort", [0, 1, 3, 2])),
        "joint effort: the efforts of axis_e, axis_d, axis_c, axis_b are those of axis_e, axis_d",
    ),
    "effort's order, all": (
        {},
        on("joint_states", ordered("effort", [1, 2, 3, 0])),
        "joint effort: the efforts of axis_e, axis_d, axis_c, axis_b are those of axis_d, axis_c",
    ),
    "joint position in degrees": (
        {},
        on("joint_states", times("position", 57.3 * joint())),
        "joint position",
    ),
    "joint position's sign": (
        {},
        on(
            "joint_states",
            lambda m: (times("position", joint(2))(m), times("velocity", joint(2))(m)),
        ),
        "joint position",
    ),
    "effort's sign": (
        {},
        on("joint_states", times("effort", joint(3))),
        "joint_states.effort_scale",
    ),
    "effort in mN m": (
        {},
        on("joint_states", times("effort", 1000 * joint())),
        "joint_states.effort_scale",
    ),
    "thrusters.unit": ({"thrusters.unit": "normalized"}, None, "thrusters.unit"),
    "a thruster's sign": ({"thrusters.signs": (1, 1, -1, 1, 1, 1, 1, 1)}, None, "thrusters.signs"),
    "the thrusters' order": (
        {},
        on("thrusters", ordered("data", [0, 2, 1, 3, 4, 5, 6, 7])),
        "thrusters.allocation: thrusters 2 and 3",
    ),
    "the thrusters' order, all": (
        {},
        on("thrusters", ordered("data", [2, 7, 4, 1, 6, 3, 0, 5])),
        "thrusters.allocation: commands 1 to 8 seem to drive thrusters 3, 8, 5, 2, 7, 4, 1, 6",
    ),
}


def warned(messages, settings, change, until=62.0):
    """Warnings of a front end with these settings on the changed messages of the first `until`
    seconds."""
    config = Config().with_values(settings)
    front, begin = SignalFrontEnd(config, RobotModel.from_config(config)), messages[0][2]
    for role, message, t in messages:
        if t > begin + until:
            break
        front.add_message(role, message if change is None else change(role, message), t)
        front.samples()
    return front.warnings


def main(seeds):
    wrong = 0
    for seed in seeds:
        messages = recording(seed)
        said = warned(messages, {}, None)
        wrong += bool(said)
        print(f"seed {seed}: correct: {said or 'no warning'}", flush=True)
        for name, (settings, change, begin) in CASES.items():
            said = warned(messages, settings, change)
            named = bool(said) and said[0].startswith(begin)
            wrong += not named
            if not named or seed == seeds[0]:
                print(
                    f"seed {seed}: {name}: {'' if named else 'NOT NAMED: '}{said[:2]}", flush=True
                )
    print(f"{wrong} of {len(seeds) * (len(CASES) + 1)} wrong")
    return wrong


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(bool(main(range(int(sys.argv[1]) if len(sys.argv) > 1 else 1))))
