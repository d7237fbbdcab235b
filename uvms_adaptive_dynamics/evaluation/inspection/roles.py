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

"""Find the topic of each input: by type, then by name, then by content."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...config.sensors import ODOMETRY, POSES
from ...config.thrusters import OVERRIDE_RC_IN
from ...errors import BagError
from ...signals.topics import OUTPUTS, Input, inputs
from ..bags import OPTIONAL_INPUTS, find_topic, types_of
from ..recording import RecordedTopic
from .proposal import Proposal
from .survey import SURVEYED_ROLES, WRENCH, Survey, TopicSurvey

# Parts of names that suggest a role, and parts that speak against any role.
FOR = {"imu": ("imu/data", "imu", "odom", "mocap", "pose"),
       "dvl": ("dvl", "velocity", "twist", "odom", "mocap", "pose"),
       "depth": ("depth", "bar30", "bar02", "pressure_2", "pressure"),
       "joint_states": ("joint_states", "joint"),
       "thrusters": ("rc/out", "thruster", "pwm", "motor", "servo"), "battery": ("battery",)}
AGAINST = ("raw", "mag", "cmd", "command_", "setpoint", "target", "reference", "desired", "diff",
           "predicted", "stddev", "filtered", "local_position", "hdg")
# Names of pressures that are not the water's: an autopilot's own barometer is in the dry hull
# (config/bluerov2_mavros.yaml), and differential pressure is an airspeed.
DRY = ("static_pressure", "diff_pressure")
# Types that say little about their content: such topics need a matching name.
VAGUE = ("std_msgs/msg/Float64", "std_msgs/msg/Float64MultiArray", ODOMETRY, *POSES,
         "geometry_msgs/msg/TwistStamped")
# Settings for odometry and poses.
REP_103: dict[str, dict[str, Any]] = {"imu": {"imu.frame": "flu", "imu.world": "enu"},
                                      "dvl": {"dvl.frame": "flu", "dvl.xyz": (0.0, 0.0, 0.0)}}
OWN_OUTPUTS = tuple(f"/{output.name}" for output in OUTPUTS)
LACKS = {
    "imu": "no topic has attitude, rates and acceleration: without an IMU the vehicle's motion is "
           "unknown and nothing about it can be estimated",
    "dvl": "no topic has a velocity over ground: without one the vehicle's rows cannot be used",
    "thrusters": "no topic has thruster commands or a wrench: without them the vehicle's efforts "
                 "are unknown"}
NEXT = {"imu": "record sensor_msgs/msg/Imu",
        "dvl": "record the DVL, odometry or a pose", "thrusters": "record the ESC commands "
        "(mavros/rc/out, or the controller's commands), or set thrusters.source"}

NAMES = {"joint_states": "joint states", "dvl": "velocity over ground", "imu": "IMU",
         "thrusters": "thruster commands"}
INPUT = {"imu": "attitude, rates and acceleration", "dvl": "a velocity over ground",
         "thrusters": "thruster commands"}
FEW_VOLTAGES = 20       # messages of one voltage, to the last digit, that may still be chance
ARM_ALONE = ("robot.vehicle: false\nimu.enabled: false\ndvl.enabled: false\n"
             "depth.enabled: false\nthrusters.source: zero")


def choose_topics(found: Survey, proposal: Proposal) -> dict[str, TopicSurvey]:
    """Find the topic of each role and propose it if it is not the configured one; a role without a
    topic is switched off or reported as missing."""
    chosen: dict[str, TopicSurvey] = {}
    absent: list[str] = []
    for role in SURVEYED_ROLES:
        if not _wanted(role, proposal):
            continue
        configured = _configured(role, found, proposal)
        candidates = _candidates(role, found, proposal)
        pose = chosen.get("imu")
        if role == "dvl" and pose in candidates and "dvl" not in candidates[0].name.lower():
            # (one source for attitude and velocity: a twist beside it may be in other axes)
            candidates.sort(key=lambda topic: topic is not pose)
        if configured is None and not candidates:
            later = _later(role, found)
            if later:
                proposal.lack(f"no {NAMES.get(role, role)} in the inspected piece, but "
                              f"'{later[0].name}' has {later[0].count} messages in the whole "
                              "recording: inspect a piece that has some (--begin)")
            else:
                absent.append(role)
            continue
        topic = configured or candidates[0]
        chosen[role] = topic
        if configured is None:
            others = [other.name for other in candidates[1:]]
            also = f" (also possible: {', '.join(others)})" if others else ""
            placed = topic.type in (ODOMETRY, *POSES)
            also += "; assumes axes by REP-103 at the body's origin" if placed else ""
            proposal.set({f"{role}.topic": topic.name, f"{role}.type": topic.type,
                          **(REP_103[role] if placed else {})},
                         f"best match by name among topics of a suitable type{also}")
        elif topic.name != f"/{getattr(proposal.config, role).topic.lstrip('/')}":
            proposal.set({f"{role}.topic": topic.name},
                         "its full name in the recording, which a node needs")
        if role == "battery":
            volts = {message.voltage for message in topic.kept}
            constant = len(topic.kept) > FEW_VOLTAGES and len(volts) == 1
            proposal.set({"battery.enabled": True}, "the recording has the voltage" + (
                f", but it is {volts.pop():.2f} V throughout: is it measured?" if constant else ""))
    if list(chosen) == ["joint_states"] and absent:
        proposal.lack("only joint states are recorded: for an arm on a fixed base, use these "
                      "settings (docs/robots.md); a vehicle also needs IMU, DVL and thruster "
                      "commands",
                      ARM_ALONE)
        return chosen
    for role in absent:
        _without(role, found, proposal, _unnamed(role, found, chosen))
    return chosen


def _later(role: str, found: Survey) -> list[TopicSurvey]:
    """Topics of a role's types and names of which only the inspected piece has no message."""
    return [topic for topic in found.topics.values()
            if topic.type in types_of(role) and topic.count and not topic.looked
            and not topic.name.endswith((*OWN_OUTPUTS, *DRY)) and topic.type != OVERRIDE_RC_IN
            and (topic.type not in VAGUE or any(part in topic.name.lower() for part in FOR[role]))]


def _unnamed(role: str, found: Survey, chosen: dict[str, TopicSurvey]) -> list[TopicSurvey]:
    """Unused topics that may have the role by their type although their names do not say so, or
    their contents are usually another; those whose names do not speak against it come first."""
    taken = {topic.name for topic in chosen.values()}
    free = [topic for topic in found.of_types(types_of(role))
            if (topic.type in (*VAGUE, OVERRIDE_RC_IN) or topic.name.endswith(DRY))
            and topic.name not in taken and not topic.name.endswith(OWN_OUTPUTS)]
    return sorted(free, key=lambda topic: (
        topic.type == OVERRIDE_RC_IN, sum(part in topic.name.lower() for part in AGAINST),
        -topic.count, topic.name))


def _wanted(role: str, proposal: Proposal) -> bool:
    config = proposal.config
    if role == "joint_states":
        return bool(config.robot.joints)
    if not config.robot.vehicle:
        return False
    if role == "thrusters":
        return config.thrusters.source == "thrusters"
    return role == "battery" or bool(getattr(config, role).enabled)


def _configured(role: str, found: Survey, proposal: Proposal) -> TopicSurvey | None:
    """The topic in the settings, if the recording has messages of the configured type on it."""
    section = getattr(proposal.config, role)
    there = {name: RecordedTopic((topic.type,), topic.count)
             for name, topic in found.topics.items()}
    try:
        name = find_topic(found.piece.path, there, Input(role, section.topic, section.type))
    except BagError:        # several topics end in that name
        return None
    topic = found.topics.get(name or "")
    return topic if topic is not None and topic.looked and topic.type == section.type else None


def _candidates(role: str, found: Survey, proposal: Proposal) -> list[TopicSurvey]:
    """Topics that may have the role, most likely first."""
    types = types_of(role)
    ranked = []
    for topic in found.of_types(types):
        fits = [place for place, part in enumerate(FOR[role]) if part in topic.name.lower()]
        if topic.name.endswith(OWN_OUTPUTS) or (topic.type in VAGUE and not fits):
            continue
        if topic.type == OVERRIDE_RC_IN or topic.name.endswith(DRY):
            continue
        if role == "joint_states" and not _joints_of(topic):
            continue
        against = sum(part in topic.name.lower() for part in AGAINST)
        ranked.append(((against, topic.type in VAGUE, min(fits, default=len(FOR[role])),
                        -_likeness(role, topic, proposal), types.index(topic.type), -topic.count,
                        topic.name), topic))
    return [topic for _, topic in sorted(ranked, key=lambda pair: pair[0])]


def _likeness(role: str, topic: TopicSurvey, proposal: Proposal) -> int:
    """How well a topic's content fits the robot."""
    if role == "joint_states":
        names = _joints_of(topic)
        return sum(any(joint in name for name in names) for joint in proposal.config.robot.joints)
    if role == "thrusters":
        return int(len(_values(topic.kept[0])) >= len(proposal.config.thrusters.signs))
    return 0


def _joints_of(topic: TopicSurvey) -> Sequence[str]:
    message = topic.kept[0] if topic.kept else None
    return [*getattr(message, "name", ()), *getattr(message, "joint_names", ())]


def _values(message: Any) -> Any:
    return message.data if hasattr(message, "data") else message.channels


def _without(role: str, found: Survey, proposal: Proposal, unnamed: list[TopicSurvey]) -> None:
    """Handle a role without a matching topic; `unnamed`: topics that may have it by their type."""
    lines = f"{role}.topic: {unnamed[0].name}\n{role}.type: {unnamed[0].type}" if unnamed else ""
    also = f"also possible by its type: {', '.join(map(_with_doubt, unnamed))}"
    if role == "thrusters":
        wrenches = [topic for topic in found.of_types((WRENCH,))
                    if not topic.name.endswith(OWN_OUTPUTS)]
        if wrenches:
            proposal.set({"thrusters.source": "wrench", "thrusters.wrench_topic": wrenches[0].name},
                         "a wrench is recorded, but no thruster commands")
            return
    if role == "joint_states":
        arm = {name: () for name, _, value in proposal.config.settings()
               if name.startswith("joint_states.") and name.rsplit(".")[1] in (
                   "names", "effort_scale", "effort_scale_negative", "effort_offset",
                   "effort_masked", "position_offset", "limits_low", "limits_high")}
        proposal.set({**arm, "robot.joints": (), "prior.friction_viscous": (),
                      "prior.friction_coulomb": ()},
                     "no joint states are recorded, so only the vehicle is estimated; if it has an "
                     "arm, keep it folded, or join its joint states (docs/recordings.md)")
    elif role in OPTIONAL_INPUTS:
        if role == "depth":
            proposal.set({"depth.enabled": False}, f"no depth or pressure of the water is "
                                                   f"recorded: {OPTIONAL_INPUTS[role]}"
                         + (f"; {also}" if unnamed else ""))
    elif unnamed:
        proposal.lack(f"no topic is named like {INPUT[role]}; {also}: set the right one", lines)
    else:
        proposal.lack(f"{LACKS[role]}; {NEXT[role]}")


def _with_doubt(topic: TopicSurvey) -> str:
    """The topic's name, with what its messages usually are."""
    if topic.type == OVERRIDE_RC_IN:
        return (f"{topic.name} (the pilot's sticks, unless the autopilot passes them through to "
                "the thrusters: SERVOn_FUNCTION from 51 on)")
    if topic.name.endswith(DRY):
        return f"{topic.name} (usually the autopilot's own barometer, in the dry hull)"
    return topic.name


def needed_topics(proposal: Proposal, chosen: dict[str, TopicSurvey]) -> bool:
    """Whether every required input has a topic."""
    return all(each.role in chosen or each.role in OPTIONAL_INPUTS or each.role == "wrench"
               for each in inputs(proposal.config))
