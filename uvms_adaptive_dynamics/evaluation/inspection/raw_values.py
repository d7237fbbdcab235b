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

"""Find units and channels from the range of the raw numbers, before anything is decoded."""
from __future__ import annotations

import itertools

import numpy as np

from ...config import Config
from ...model.robot import RobotModel
from ...signals.checks.joint_check import LIMIT_MARGIN
from ...signals.decode.decoder import DEPTH_RANGE, PASCAL, RC_HIGH, RC_LOW, depth_unit
from ...signals.decode.fields import floats
from ...signals.filters.joints import joint_limits
from .proposal import Proposal
from .survey import TopicSurvey

# [Pa] Least absolute pressure at a water surface: that of a lake at 5000 m altitude.
LEAST_PRESSURE = 5e4
MOST_ORDERS = 5040       # most orders of joints that are tried
# Share of a channel's commands that are pulse widths if it drives a thruster; others are glitches.
MOST_PULSES = 0.95


def choose_thruster_channels(topic: TopicSurvey, proposal: Proposal) -> None:
    """Propose unit and channels of the thruster commands."""
    lists = [floats(message.data if hasattr(message, "data") else message.channels)
             for message in topic.kept]
    width = min(map(len, lists), default=0)
    values = np.array([row[:width] for row in lists]).reshape(-1, width)
    # Before arming, and while an autopilot restarts, drivers send zeros and NaN.
    values = values[np.isfinite(values).all(axis=1) & values.any(axis=1)]
    count = len(proposal.config.thrusters.signs)
    if width < count:
        proposal.lack(f"'{topic.name}' has {width} values, but thrusters.allocation has {count} "
                      "thrusters: the allocation is that of another vehicle",
                      "thrusters.signs: [?]\nthrusters.allocation: [?]   # 6 rows, a column each")
        return
    if not len(values):     # which says nothing about the unit
        return
    pulses = (values >= RC_LOW) & (values <= RC_HIGH)
    live = [k for k in range(width) if pulses[:, k].mean() > MOST_PULSES]
    sized = np.abs(values).max(initial=0.0)
    if live:
        unit, why = "pwm", f"values of {len(live)} channels lie between 500 and 2500 us"
    elif sized <= 1.0:
        unit, why = "normalized", f"no value is larger than 1 (largest {sized:.2f})"
    else:
        unit, why = "newton", f"values up to {sized:.3g} are neither pulse widths nor within +-1"
        live = list(range(width))
    if "thrusters.unit" not in proposal.given or unit == "pwm":
        proposal.set({"thrusters.unit": unit}, why)
    if proposal.config.thrusters.channels:
        return
    moving = [k for k in (live if unit == "pwm" else range(width)) if np.ptp(values[:, k]) > 0.0]
    first_move = all(k in moving for k in range(count))
    if width > count and moving and not first_move:
        if len(moving) == count:
            proposal.set({"thrusters.channels": tuple(k + 1.0 for k in moving)},
                         f"these {count} of {width} values move")
        elif not set(moving) <= set(range(count)):
            listed = ", ".join(str(k + 1) for k in moving)
            proposal.lack(
                f"'{topic.name}' has {width} values, of which {listed} "
                f"move, and the robot has {count} thrusters: which value belongs to which?",
                f"thrusters.channels: [{', '.join('?' * count)}]")
    elif width > count and not hasattr(topic.kept[0], "channels"):
        proposal.set({"thrusters.channels": tuple(k + 1.0 for k in range(count))},
                     f"the first {count} of {width} values move")


def choose_depth_unit(topic: TopicSurvey, proposal: Proposal) -> None:
    """Propose the unit of depth or pressure by physical bounds; if several are possible, the one
    that gives the shallowest depth."""
    is_pressure = hasattr(topic.kept[0], "fluid_pressure")
    values = np.array([message.fluid_pressure if is_pressure else message.data
                       for message in topic.kept], float)
    values = values[np.isfinite(values)]
    if not len(values):
        proposal.lack(f"'{topic.name}' has no finite value; check the sensor")
        return
    low, high = float(np.quantile(values, 0.01)), float(np.quantile(values, 0.99))
    config = proposal.config
    deepest = {unit: (high * size - config.robot.surface_pressure)
               / (config.robot.water_density * config.robot.gravity)
               for unit, size in PASCAL.items() if low * size >= LEAST_PRESSURE}
    if not is_pressure and low > DEPTH_RANGE[0]:
        deepest["m"] = high
    possible = {unit: depth for unit, depth in deepest.items() if depth < DEPTH_RANGE[1]}
    if not possible:
        proposal.lack(f"'{topic.name}' has values of {low:.4g} to {high:.4g}, which are neither a "
                      "depth nor an absolute pressure in any unit; check the sensor, or set "
                      "robot.surface_pressure to 0 if the pressure is relative to the surface")
        return
    unit = min(possible, key=lambda name: abs(possible[name]))
    if unit != depth_unit(config, is_pressure):
        others = ", ".join(f"{depth:.0f} m as {name}" for name, depth in possible.items()
                           if name != unit)
        proposal.set({"depth.unit": unit}, (
            f"values of {low:.4g} to {high:.4g} mean at most {possible[unit]:.1f} m of depth in "
            f"this unit" + (f" ({others})" if others else "")))


def choose_joint_names(topic: TopicSurvey, proposal: Proposal, robot: RobotModel) -> None:
    """Propose the messages' names of the robot's joints, by similar names or else by ranges."""
    message = topic.kept[0]
    names = list(getattr(message, "name", None) or message.joint_names)
    joints = proposal.config.robot.joints
    if set(proposal.config.joint_states.names or joints) <= set(names):
        return
    alike = {joint: [name for name in names if name.lower().endswith(joint.lower())]
             for joint in joints}
    if all(len(found) == 1 for found in alike.values()):
        proposal.set({"joint_states.names": tuple(found[0] for found in alike.values())},
                     "the names in the messages end in those of robot.joints")
        return
    orders = _possible_orders(topic, names, proposal.config, robot)
    if not orders and (in_degrees := _possible_orders(topic, names, proposal.config, robot, "deg")):
        orders = in_degrees
        proposal.set({"joint_states.unit": "deg"},
                     "positions are within the joints' limits in degrees, but not in radians")
    if len(orders) == 1:
        proposal.set({"joint_states.names": orders[0]},
                     "the only order with all positions within the joints' limits")
        return
    if not orders:
        proposal.lack(f"'{topic.name}' has the joints {', '.join(names)}, whose positions fit the "
                      f"limits of {', '.join(joints)} in no order: is it another arm "
                      "(docs/robots.md), or another unit? For another arm, pass --config a file "
                      "with these lines; list joints from the base, by their names in the URDF",
                      f"robot.urdf: ?PATH?\nrobot.joints: [{', '.join(names)}]\n"
                      "robot.mount_xyz: [?, ?, ?]   # [m] from the vehicle's origin, FRD\n"
                      "robot.mount_rpy: [?, ?, ?]   # [rad], as in the URDF of the vehicle")
        return
    blanks = ", ".join(f"?{joint}?" for joint in joints)
    proposal.lack(f"'{topic.name}' has the joints {', '.join(names)}, and the robot has "
                  f"{', '.join(joints)}: which is which? {len(orders)} orders fit the "
                  "joints' limits", f"joint_states.names: [{blanks}]")


def _possible_orders(topic: TopicSurvey, names: list[str], config: Config, robot: RobotModel,
                     unit: str = "rad") -> list[tuple[str, ...]]:
    """Orders of the recorded joints with every position, in this unit, within the limits [rad]."""
    if not hasattr(topic.kept[0], "position"):
        return []
    rows = [message.position for message in topic.kept if len(message.position) == len(names)]
    positions = np.array(rows, float).reshape(-1, len(names))
    to_si = np.ones(len(config.robot.joints))
    if unit == "deg":
        if np.abs(positions).max(initial=0.0) < 2.0 * np.pi:
            return []       # small numbers are within any limits as degrees
        to_si = np.where(robot.table.prismatic, 1.0, np.radians(1.0))
    n = len(config.robot.joints)
    low, high = joint_limits(config, robot)
    if not len(positions) or np.prod([len(names) - k for k in range(n)]) > MOST_ORDERS:
        return []
    lows, highs = positions.min(axis=0), positions.max(axis=0)
    fits = ((lows[:, None] * to_si > low - LIMIT_MARGIN)
            & (highs[:, None] * to_si < high + LIMIT_MARGIN))
    return [tuple(names[k] for k in order)
            for order in itertools.permutations(range(len(names)), n)
            if all(fits[k, j] for j, k in enumerate(order))]
