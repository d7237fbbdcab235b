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

"""What couples arm and vehicle tells whether the arm's data are late, and whether its efforts have
the right scale (docs/statement.md, "What the coupling tells").

An arm's own rows fit as well when all of its data are late, or when a joint's effort is doubled:
friction, inertia and weight double with it. But the vehicle carries the arm, each joint carries the
links behind it, and gravity turns with the vehicle: the same weights at the same time.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..config.sensors import Joints
from .added_direction import Added, RobustFit
from .verdict import Finding

# [s] What the model lacks looks like some .04 s of it, on simulated robots that are right.
MIN_LAG = 0.05
# Of an effort's scale: links are estimated in water, where weight and inertia differ by the water
# that they displace.
MIN_SCALE = 0.2
# [rad, m] Brackets and zeros are set by hand: 5 degrees.
MIN_OFFSET = 0.09


def arm_findings(fit: RobustFit, late: np.ndarray, turned: np.ndarray, joints: Sequence[str],
                 settings: Joints) -> list[Finding]:
    """The likeliest of what is surely wrong, or nothing.

    late (T, C), turned (T, C, n): change of the predictions as the arm's data get later, and with
    each joint's position [N, N m; per s, per rad or m]; joints: whose rows are the last ones.
    """
    n, C = len(joints), fit.predicted.shape[1]
    # of each joint's efforts, and of all together
    which = np.vstack([np.eye(n, dtype=bool), np.ones(n, bool)])
    scaled = np.zeros((*fit.predicted.shape, n + 1))
    scaled[:, C - n:] = fit.predicted[:, C - n:, None] * which.T
    lag, *others = fit.added(np.concatenate([late[:, :, None], scaled, turned], axis=2))
    found = [(lag, _late(lag, settings.delay))] if lag.beyond(MIN_LAG) else []
    found += [(scale, _scaled(scale, name)) for name, scale in zip((*joints, ""), others)
              if scale.beyond(MIN_SCALE)]
    found += [(offset, _moved(offset, name)) for name, offset in zip(joints, others[n + 1:])
              if offset.beyond(MIN_OFFSET)]
    return [max(found, key=lambda one: one[0].gain)[1]] if found else []


def _late(lag: Added, delay: float) -> Finding:
    return Finding("joint_states.delay", (
        f"joint_states.delay: the arm's data are some {abs(lag.value):.2f} +- {lag.stddev:.2f} s "
        f"{'later' if lag.value > 0 else 'earlier'} than the vehicle's of the same motion; "
        "synchronize the clocks of arm and vehicle, or set joint_states.delay to "
        f"{delay + lag.value:.2f} (now {delay:.2f}) and look again"))


def _scaled(scale: Added, name: str) -> Finding:
    who, others = (("the joints", "the thrust says that carries the arm") if not name else
                   (name, "the other joints and the vehicle say of the same links"))
    return Finding("joint_states.effort_scale", (
        f"joint_states.effort_scale: the efforts of {who} are some {1 + scale.value:.2f} +- "
        f"{scale.stddev:.2f} times what {others}; check the driver's unit and gear ratios"
        + ("" if name else ", or the thrust (thrusters.voltage, thrust curve)")))


def _moved(offset: Added, name: str) -> Finding:
    return Finding("joint_states.position_offset", (
        f"joint_states.position_offset: the positions of {name} are some {-offset.value:+.2f} +- "
        f"{offset.stddev:.2f} (rad or m) off, as the weight of the links tells; add it to "
        "joint_states.position_offset, or check how the arm is mounted (robot.mount_rpy)"))
