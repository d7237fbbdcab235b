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

"""External commands, which replace the simulated robot's own controllers."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import MessageError
from ..model.thrust_curve import NEUTRAL_PWM_US

LOWEST_PWM, HIGHEST_PWM = 1100.0, 1900.0  # [us] range of an ESC
INPUT_TIMEOUT = 0.5  # [s] without a command, as in ArduSub's failsafe for a lost pilot


def checked_command(what: str, values: Sequence[float] | np.ndarray, size: int) -> np.ndarray:
    """The command as an array (size,); raises MessageError for a wrong size or numbers that are not
    finite."""
    command = np.array(values, dtype=float)
    bad = int(np.sum(~np.isfinite(command)))
    if command.shape != (size,) or bad:
        raise MessageError(f"{what}: got {command.size} numbers, {bad} of them not finite; "
                           f"expected {size} finite ones")
    return command


class HeldCommand:
    """The last command (size,) of one input, which holds for `timeout` [s] and then turns
    `neutral`.

    None before the first command: the robot's own controller is in charge until then.
    """

    def __init__(self, what: str, size: int, neutral: float, timeout: float):
        self._what, self._timeout = what, timeout
        self._neutral = np.full(size, neutral)
        self._value: np.ndarray | None = None
        self._t = 0.0

    def set(self, t: float, values: Sequence[float] | np.ndarray) -> None:
        """Hold `values` (size,) from t [s] on; raises MessageError for an invalid command."""
        self._value, self._t = checked_command(self._what, values, self._neutral.size), t

    def at(self, t: float) -> np.ndarray | None:
        """The command (size,) at t [s]; None before the first one."""
        if self._value is None:
            return None
        return self._value if t - self._t <= self._timeout + 1e-9 else self._neutral


class ExternalInputs:
    """External thruster PWM and joint efforts, each with its own timeout."""

    def __init__(self, thrusters: int, torque_limit: np.ndarray, timeout: float = INPUT_TIMEOUT):
        self._torque_limit = torque_limit
        self._pwm = HeldCommand("thruster PWM", thrusters, NEUTRAL_PWM_US, timeout)
        self._torque = HeldCommand("joint efforts", torque_limit.size, 0.0, timeout)

    def set_pwm(self, t: float, pwm: Sequence[float] | np.ndarray) -> None:
        """Command (k,) PWM [us] from t [s] on."""
        self._pwm.set(t, pwm)

    def set_joint_torque(self, t: float, torque: Sequence[float] | np.ndarray) -> None:
        """Command (n,) motor torques [N m] at the output shafts from t [s] on."""
        self._torque.set(t, torque)

    def pwm(self, t: float) -> np.ndarray | None:
        """(k,) PWM [us] as the ESCs accept it; None while the robot's own pilot is in charge."""
        pwm = self._pwm.at(t)
        return None if pwm is None else np.round(np.clip(pwm, LOWEST_PWM, HIGHEST_PWM))

    def joint_torque(self, t: float) -> np.ndarray | None:
        """(n,) torque [N m] within motor limits; None while the robot's own servo is in charge."""
        torque = self._torque.at(t)
        if torque is None:
            return None
        return np.minimum(np.maximum(torque, -self._torque_limit), self._torque_limit)
