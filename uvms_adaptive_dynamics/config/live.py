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

"""Which settings may change while a node runs, and why the others may not."""
from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

# These affect only future data, not what has been learnt: timeouts, gates, masks, change
# detection, outputs. By the nodes that use them:
_DVL = frozenset(("dvl.timeout", "dvl.max_stddev", "dvl.max_speed"))
_SIGNALS = _DVL | frozenset((
    "imu.timeout", "depth.timeout", "joint_states.timeout", "thrusters.timeout",
    "filter.gates", "limits.speed",
    "joint_states.effort_masked", "joint_states.rest_velocity", "joint_states.stop_margin",
    "depth.minimum", "depth.maximum", "dvl.minimum_altitude", "thrusters.saturation"))
_ESTIMATE = frozenset((
    "filter.gap", "estimation.deadline", "limits.rate",
    "limits.acceleration", "limits.angular_acceleration", "limits.joint_speed",
    "limits.joint_acceleration", "limits.force", "limits.torque",
    "filter.minimum_share", "estimation.follow_changes",
    "output.file", "output.save_period", "output.parameters_period", "output.covariance_period",
    "output.diagnostics_period", "output.review_period"))
_FEEDFORWARD = frozenset((
    "feedforward.fallback", "feedforward.timeout", "feedforward.max_age", "feedforward.blend_time",
    "feedforward.max_step", "feedforward.velocity", "feedforward.motion_timeout",
    "feedforward.state_timeout"))
LIVE_BY_NODE = {"estimator": _SIGNALS | _ESTIMATE, "feedforward": _DVL | _FEEDFORWARD,
                "twin": _SIGNALS}
LIVE = frozenset().union(*LIVE_BY_NODE.values())

# The first matching pattern gives the reason.
REASONS = (
    ("*.topic", "topics are subscribed at start"),
    ("*.type", "topics are subscribed at start"),
    ("*.enabled", "topics are subscribed at start"),
    ("thrusters.source", "topics are subscribed at start"),
    ("thrusters.wrench_topic", "topics are subscribed at start"),
    ("output.record", "a recording begins at start"),
    ("output.directory", "the directory is checked at start"),
    ("output.*", "subscribers expect one frame for all messages of a run"),
    ("prior.*", "it is read at start; use ~/load or ~/reset to change the estimate of a running "
                "node"),
    ("robot.*", "parameters and regressors are built for one robot"),
    ("filter.*", "grid, filters and window are built for it"),
    ("estimation.*", "learnt data were weighted with it"),
    ("uncertainty.*", "learnt data were weighted with it"),
    ("feedforward.*", "the node feedforward reads it at start"),
    ("twin.*", "the node twin reads it at start"),
    ("excitation.*", "motions are designed with the settings at start"),
    ("identification.*", "the node identify reads it at start"),
    ("*", "learnt rows were computed with it"),
)


class Fixed(NamedTuple):
    """Why a setting is fixed at start, a clause; and what to do instead, a sentence."""

    why: str
    instead: str = "Set it in the parameter file and restart the node."


# Whether a node's setting, by dotted name, is fixed at start or may change to a value.
FixedSettings = Callable[[str, Any], Fixed | None]


def fixed_in(node: str) -> FixedSettings:
    """What is fixed in one of the nodes of LIVE_BY_NODE; other values make no difference."""
    def fixed(name: str, value: Any = None) -> Fixed | None:
        if name in LIVE_BY_NODE[node]:
            return None
        users = [user for user, used in LIVE_BY_NODE.items() if name in used]
        if users:
            nodes = "nodes" if len(users) > 1 else "node"
            return Fixed(f"only the {nodes} {' and '.join(users)} use"
                         f"{'' if len(users) > 1 else 's'} it", "Change it there.")
        return Fixed(next(reason for pattern, reason in REASONS if fnmatchcase(name, pattern)))
    return fixed


def fixed_in_identify(name: str, value: Any) -> Fixed | None:
    """The same for the node identify, in which only the permission to move may be withdrawn."""
    withdrawn = name == "identification.move" and not value
    return None if withdrawn else Fixed("the node identify reads it at start")
