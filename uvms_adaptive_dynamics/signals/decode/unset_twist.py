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

"""Odometry whose publisher leaves the twist at zero, as bridges of motion capture do: until one is
not exactly zero, a message counts as its pose (`poses`)."""
from __future__ import annotations

from collections.abc import Sequence

from ...config import Config

# Poses that have changed although the twist is zero, for a sentence: more than a robot at rest
# has before its publisher's filter begins.
MOVED_POSES = 25
READ_AS = {"imu": ("angular", "rates are"), "dvl": ("linear", "velocity is")}


class UnsetTwist:
    """Whether the twist that a role reads, 'imu' the angular and 'dvl' the linear one, has been
    exactly zero so far."""

    def __init__(self, config: Config):
        self._topics = {"imu": config.imu.topic, "dvl": config.dvl.topic}
        self.reset()

    def reset(self) -> None:
        """Forget all messages, as between recordings."""
        self._set: set[str] = set()
        self._poses: dict[str, Sequence[float]] = {}
        self._moved = dict.fromkeys(READ_AS, 0)

    def is_set(self, role: str, twist: Sequence[float]) -> bool:
        """Whether this or an earlier twist (3,) of the role is not zero."""
        if any(twist):
            self._set.add(role)
        return role in self._set

    def note_pose(self, role: str, pose: Sequence[float]) -> None:
        """Note the pose (k,) of a message of the role whose twist is not set."""
        self._moved[role] += self._poses.get(role, pose) != pose
        self._poses[role] = pose

    def is_unset(self, role: str) -> bool:
        """Whether the role's messages count as poses."""
        return role in self._poses and role not in self._set

    def sentences(self) -> list[str]:
        """A sentence for each role whose poses have moved without a twist."""
        return [f"{role}.topic: the {part} twist of '{self._topics[role]}' is always zero although "
                f"its poses move, so the {values} derived from the poses, which is noisier and "
                "a tenth of a second later or more; let its publisher fill in the twist"
                for role, (part, values) in READ_AS.items()
                if self.is_unset(role) and self._moved[role] >= MOVED_POSES]
