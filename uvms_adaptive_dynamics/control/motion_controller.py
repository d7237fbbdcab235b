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

"""An example controller: computed torque for the wanted motion plus a PID on the remaining error.

    wrench, joint efforts = Y(state, wanted velocity and acceleration) pi + known + PID

The feedforward uses measured attitude and joint angles but wanted velocities (Sadegh and Horowitz,
1990): stability then depends on the PID alone, and wrong damping or friction in pi is a disturbance
instead of negative damping. The PID's gains are constant, which exposes the benefit of an estimate,
unless a caller sets others (`control/gain_schedule.py`). The integral state is an effort, so that
changing the gains does not make it jump.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..errors import ParameterError
from ..model.dynamics import State
from ..model.parameter_set import ParameterSet
from ..model.rotations import from_rotation_vector, to_rotation_vector
from .allocation import Curve, allocation_of
from .desired_motion import DesiredMotion
from .feedforward import Feedforward, FeedforwardEfforts
from .state_filter import MotionState

# Bandwidths [rad/s] of the PID for translation, rotation and joints: Tyreus and Luyben's share of
# those at which the loop without feedforward starts to oscillate (docs/closed_loop.md, "The PID").
BANDWIDTH = (7.0, 7.0, 15.0)
DAMPING_RATIO = 1.0
# The integral is a quarter as fast as the rest, which costs some 15 deg of phase.
INTEGRAL_SHARE = 0.25
# Share of the effort limits that the integral may reach: enough for a wrong weight and a current.
INTEGRAL_LIMIT = 0.5
NOT_GIVEN = 1e-6    # share of a limit: an effort cut by less is only rounded
INERTIAS = ("m_X_du", "m_Y_dv", "m_Z_dw", "Ix_K_dp", "Iy_M_dq", "Iz_N_dr")


class Gains(NamedTuple):
    """Gains (C,) on the errors in body axes (6,) and joints (n,): proportional [N/m, N m/rad],
    derivative [N s/m, N m s/rad], integral [N/(m s), N m/(rad s)]."""

    proportional: np.ndarray
    derivative: np.ndarray
    integral: np.ndarray


def gains_for(nominal: ParameterSet, joints: tuple[str, ...],
              bandwidth: tuple[float, float, float] = BANDWIDTH) -> Gains:
    """Gains for a vehicle with the nominal inertias and joints with the nominal viscous friction.
    """
    value = dict(zip(nominal.names, nominal.values))
    load = np.array([value[name] for name in loads(joints)])
    return gains_of(load, np.repeat(bandwidth, (3, 3, len(joints))))


def loads(joints: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the parameters that gains scale with: inertias, then the joints' friction."""
    return (*INERTIAS, *(f"{joint}.fv" for joint in joints))


def gains_of(load: np.ndarray, w: np.ndarray) -> Gains:
    """Gains of `loads` (C,) with bandwidths w (C,) [rad/s].

    Vehicle: poles of M (s + w)^2. Joints: friction damps them, so that a proportional gain of fv w
    gives the bandwidth w without a derivative.
    """
    proportional = np.concatenate([load[:6] * w[:6] ** 2, load[6:] * w[6:]])
    derivative = np.concatenate([2 * DAMPING_RATIO * load[:6] * w[:6], np.zeros(load.size - 6)])
    return Gains(proportional, derivative, INTEGRAL_SHARE * w * proportional)


class ControlCommand(NamedTuple):
    """pwm (k,) [us], joint_torque (n,) [N m]; requested effort (C,) and its feedforward part;
    limited: True if the thrusters cannot produce it."""

    pwm: np.ndarray
    joint_torque: np.ndarray
    effort: np.ndarray
    feedforward: FeedforwardEfforts | None
    limited: bool


class MotionController:
    """Follows a wanted motion with thrusters and joints.

    `desired(t)` is the wanted motion at time t [s]; feedforward None: PID alone.
    """

    def __init__(self, config: Config, feedforward: Feedforward | None, gains: Gains,
                 desired: Callable[[float], DesiredMotion], curve: Curve, limits: np.ndarray,
                 period: float, cautious: bool = False):
        """limits (C,): largest efforts [N, N m]; period [s] of `command`. cautious: compute the
        feedforward at the wanted pose, so that a wrong weight cannot act as negative stiffness,
        and shrink it by the uncertainty of its parameters."""
        self.feedforward, self._gains, self._desired = feedforward, gains, desired
        self._allocation = allocation_of(config, curve)
        self._limits, self._period, self._cautious = limits, period, cautious
        # Rotors lag, so their part is commanded ahead of time; 0.5 period is the zero-order hold.
        self._lead = config.thrusters.time_constant + config.thrusters.delay + 0.5 * period
        self._integral = np.zeros(limits.size)
        self.refused = 0    # number of feedforwards that could not be computed

    def change_gains(self, gains: Gains) -> None:
        """Use other gains from the next command on, which does not jump."""
        self._gains = gains

    def command(self, t: float, state: MotionState) -> ControlCommand:
        """Commands at time t [s] for the state at that time."""
        error, rate_error = self._errors(self._desired(t), state)
        ahead = self._feedforward(t, state)
        feedback = (self._gains.proportional * error + self._gains.derivative * rate_error
                    + self._integral)
        effort = feedback if ahead is None else feedback + ahead.tau
        given = self._allocation.allocate(effort[:6])
        torque = np.clip(effort[6:], -self._limits[6:], self._limits[6:])
        self._integrate(error, effort, np.concatenate([given.wrench, torque]))
        return ControlCommand(given.pwm, torque, effort, ahead, given.limited)

    def _errors(self, desired: DesiredMotion,
                state: MotionState) -> tuple[np.ndarray, np.ndarray]:
        """(errors (C,) of pose in body axes and of joints, errors (C,) of their rates)."""
        R = state.R_nb
        turn = R.T @ desired.R_nb
        error = np.concatenate([R.T @ (desired.position - state.position),
                                to_rotation_vector(turn), desired.mu - state.mu])
        rate = np.concatenate([turn @ desired.nu[:3], turn @ desired.nu[3:], desired.mu_dot])
        return error, rate - np.concatenate([state.nu, state.mu_dot])

    def _feedforward(self, t: float, state: MotionState) -> FeedforwardEfforts | None:
        """Efforts of the wanted motion: the wrench ahead by the rotors' lag, joint efforts now."""
        if self.feedforward is None:
            return None
        try:
            later = self._efforts(t, self._lead, state)
            now = self._efforts(t, 0.0, state)
        except ParameterError:
            self.refused += 1
            return None
        return later._replace(tau=np.concatenate([later.tau[:6], now.tau[6:]]),
                              stddev=np.concatenate([later.stddev[:6], now.stddev[6:]]))

    def _efforts(self, t: float, lead: float, state: MotionState) -> FeedforwardEfforts:
        assert self.feedforward is not None
        wanted = self._desired(t + lead)
        if self._cautious:
            there = State(wanted.R_nb, wanted.nu, wanted.mu, wanted.mu_dot)
            return _shrunk(self.feedforward.efforts(t, there, wanted.nu_dot, wanted.mu_ddot))
        there = State(state.R_nb @ from_rotation_vector(lead * wanted.nu[3:]), wanted.nu,
                      state.mu + lead * wanted.mu_dot, wanted.mu_dot)
        return self.feedforward.efforts(t, there, wanted.nu_dot, wanted.mu_ddot)

    def _integrate(self, error: np.ndarray, effort: np.ndarray, given: np.ndarray) -> None:
        """Integrate, with anti-windup: hold channels whose saturation the step would deepen."""
        step = self._period * self._gains.integral * error
        withheld = effort - given
        stuck = (np.abs(withheld) > NOT_GIVEN * self._limits) & (withheld * step > 0.0)
        bound = INTEGRAL_LIMIT * self._limits
        self._integral = np.clip(self._integral + np.where(stuck, 0.0, step), -bound, bound)


def _shrunk(ahead: FeedforwardEfforts) -> FeedforwardEfforts:
    """Scale each effort x with standard deviation s by x^2 / (x^2 + s^2) (Wiener filter), which
    minimizes the expected error left to the feedback."""
    power = ahead.tau ** 2
    share = power / np.maximum(power + ahead.stddev ** 2, np.finfo(float).tiny)
    return ahead._replace(tau=share * ahead.tau)
