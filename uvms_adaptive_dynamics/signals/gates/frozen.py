"""Frozen sensors: a reading that is the same to the last bit while the robot is seen to move elsewhere (DESIGN section 5).

Plain repeats are normal, a driver may publish every value three times; and a robot at rest may well repeat itself. So a
sensor counts as frozen only after a time that no repeat lasts, in which another sensor has shown motion at least twice.
"""
from __future__ import annotations

import math
from typing import Sequence

# [s] of identical readings, by role. A held joystick is no frozen sensor, so commands are not watched.
PATIENCE = {"imu": 0.3, "dvl": 0.8, "joint_states": 0.5, "depth": 1.0}
# [m] that the vehicle must have sunk or risen meanwhile, by DVL and attitude: a coarse depth repeats itself on a level path.
SUNK = 0.15
# How far a reading of each role must go to show motion: rates [rad/s] and force [m/s^2]; [m/s]; [m]; positions [rad].
IMU_MOVES = (0.05,) * 3 + (0.3,) * 3
LONGEST_DVL_STEP = 1.0   # [s] over which a vertical velocity is taken to hold
MOVES = {"dvl": 0.05, "depth": 0.1, "joint_states": 0.03}


class FrozenWatch:
    """Follows the readings of all roles; times are relative to the front end's origin."""

    def __init__(self, rest_velocity: float):
        self._rest = rest_velocity
        self.reset()

    def reset(self) -> None:
        """Forget all readings."""
        self._last: dict[str, Sequence[float]] = {}
        self._since: dict[str, float] = {}
        self._anchor: dict[str, Sequence[float]] = {}
        self._moves: dict[str, tuple[float, float]] = {}
        self._down: Sequence[float] | None = None
        self._dvl_time, self._sunk, self._sunk_then = -math.inf, 0.0, 0.0

    def frozen_since(self, role: str, t: float, values: Sequence[float]) -> float | None:
        """Take in a reading; the time since which it stands still, where that means a frozen sensor.

        Joints stand still lawfully: they are frozen when their velocities say that they move; and so does depth, which is
        frozen when the vehicle sinks or rises.
        """
        if role not in PATIENCE:
            return None
        if role == "imu":
            self._down = values[:3]
        elif role == "dvl" and self._down is not None:
            if t - self._dvl_time < LONGEST_DVL_STEP:
                self._sunk += (t - self._dvl_time) * sum(v * n for v, n in zip(values, self._down))
            self._dvl_time = t
        if self._last.get(role) != values:
            self._last[role], self._since[role] = values, t
            if role == "depth":
                self._sunk_then = self._sunk
            self._note_motion(role, t, values)
            return None
        since = self._since[role]
        if t - since < PATIENCE[role]:
            return None
        if role == "joint_states":
            speeds = values[len(values) // 3:2 * len(values) // 3]
            return since if any(abs(speed) > self._rest for speed in speeds) else None
        if role == "depth":
            return since if abs(self._sunk - self._sunk_then) > SUNK else None
        elsewhere = any(twice > since for other, (twice, _) in self._moves.items() if other != role)
        return since if elsewhere else None

    def _note_motion(self, role: str, t: float, values: Sequence[float]) -> None:
        if role == "imu":
            shown, limits = values[3:9], IMU_MOVES
        else:
            shown = values[:len(values) // 3] if role == "joint_states" else values
            limits = (MOVES[role],) * len(shown)
        anchor = self._anchor.get(role)
        if anchor is not None:
            for now, before, limit in zip(shown, anchor, limits):
                if abs(now - before) > limit:
                    break
            else:
                return
        self._anchor[role] = shown
        self._moves[role] = (self._moves.get(role, (-math.inf, -math.inf))[1], t)
