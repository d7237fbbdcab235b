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

"""The digital twin: from a state and commands to the motion of the next seconds, with bands."""
from __future__ import annotations

import numpy as np

from ..config import Config
from ..errors import ParameterError
from ..model.dynamics import State
from ..model.forward_simulation import Forward, simulate
from ..model.motion import EquationsOfMotion
from ..model.parameter_draws import moving_covariance
from ..model.parameter_file import ParameterSet
from ..model.robot import RobotModel
from .bands import bands, friction_at_rest
from .carried_arm import CarriedArm
from .commands import Commands
from .unexplained import BAND_STEP, Unexplained

INTEGRATION_STEP = 0.02  # [s] of the integration, five to a step of the bands
# Parameters drawn for the covariance of those that have a motion: 3 % of a deviation, in 0.1 s.
DRAWS = 1000


class Twin:
    """Forecasts with one set of parameters; a new set is a new twin.

    It runs forward what `simulate` does, with bands for the start, the parameters, what the model
    leaves unexplained, and joints at rest.
    """

    def __init__(self, robot: RobotModel, config: Config, parameters: ParameterSet,
                 unexplained: Unexplained):
        """parameters in the table's order. Raises ParameterError where they have no covariance."""
        if parameters.covariance is None:
            raise ParameterError("the twin's parameters have no covariance; expected an estimate, "
                                 "as ~/save or --save-parameters write it.")
        self._robot, self._pi = robot, np.asarray(parameters.values, float)
        self._covariance, self.unexplained = parameters.covariance, unexplained
        self._start = start_covariance(config, robot)
        self._root: np.ndarray | None = None

    def forecast(self, start: State, commands: Commands, horizon: float,
                 start_covariance: np.ndarray | None = None) -> Forward:
        """The motion from `start` under commands for `horizon` [s], every BAND_STEP.

        Positions are relative to the start's, NED. start_covariance (d, d): how well the start is
        known, by default as the settings say. Raises ParameterError where the motion leaves all
        bounds or the parameters have none.
        """
        K, each = max(1, round(horizon / BAND_STEP)), round(BAND_STEP / INTEGRATION_STEP)
        body = self._body(commands)
        run = simulate(self._robot, start, commands.efforts, self._pi, K * BAND_STEP,
                       step=INTEGRATION_STEP, body=body)
        if self._root is None:
            self._root = _root(moving_covariance(self._robot, start, self._pi, self._covariance,
                                                 DRAWS))
        states, n = run.states[::each], self._robot.table.n
        known = np.array(self._start if start_covariance is None else start_covariance)
        within = np.zeros((K, n))
        if commands.arm is None:
            within = np.array([friction_at_rest(body, run.states[k:k + each + 1])
                               for k in range(0, K * each, each)]).reshape(K, n)
        else:     # the joints are where they are planned to be, whatever was measured
            known[12:], known[:, 12:] = 0.0, 0.0
        covariance = bands(body, states, within, self._root, known, self.unexplained,
                           commands.measured and commands.arm is None)
        return Forward(run.t[::each], states, run.position[::each], covariance)

    def _body(self, commands: Commands) -> EquationsOfMotion:
        if commands.arm is None:
            return EquationsOfMotion(self._robot, self._pi)
        if not self._robot.vehicle:
            raise ParameterError("an arm on a fixed base that moves as planned leaves nothing to "
                                 "forecast; set twin.arm to 'efforts'.")
        return CarriedArm(self._robot, self._pi, commands.arm)


def start_covariance(config: Config, robot: RobotModel) -> np.ndarray:
    """(d, d) of a state that the front end measured, by the sensors' own noise; positions are
    relative to it."""
    twin, joints, n = config.twin, config.joint_states, robot.table.n
    stddev = [joints.position_stddev] * n + [joints.velocity_stddev] * n
    if robot.vehicle:
        stddev = ([0.0] * 3 + [twin.attitude_stddev] * 3 + [twin.velocity_stddev] * 3
                  + [twin.rate_stddev] * 3 + stddev)
    return np.diag(np.square(stddev))


def _root(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 0
    return vectors[:, kept] * np.sqrt(values[kept])
