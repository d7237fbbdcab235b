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

"""The digital twin: forecasts the next seconds of motion, with bands, from a state and commands."""
from __future__ import annotations

import numpy as np

from ..config import Config
from ..errors import ParameterError
from ..model.dynamics import State
from ..model.equations_of_motion import EquationsOfMotion
from ..model.forward_simulation import Forward, simulate
from ..model.parameter_draws import moving_covariance
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from .bands import bands, friction_at_rest
from .carried_arm import CarriedArm
from .commands import Commands
from .unexplained import BAND_STEP, Unexplained

INTEGRATION_STEP = 0.02  # [s] five per BAND_STEP
# Draws for the covariance of the parameters with which the robot can move: 3 % of a standard
# deviation, in 0.1 s of computing.
DRAWS = 1000


class Twin:
    """Forecasts with one set of parameters; make a new twin for a new set.

    It adds bands to `simulate`: for the initial state, the parameters, the unexplained residual,
    and joints at rest.
    """

    def __init__(self, robot: RobotModel, config: Config, parameters: ParameterSet,
                 unexplained: Unexplained):
        """parameters in the table's order. Raises ParameterError if they have no covariance."""
        if parameters.covariance is None:
            raise ParameterError("the twin's parameters have no covariance; expected an estimate "
                                 "written by ~/save or --save-parameters.")
        self._robot, self._pi = robot, np.asarray(parameters.values, float)
        self._covariance, self.unexplained = parameters.covariance, unexplained
        self._start = start_covariance(config, robot)
        self._root: np.ndarray | None = None

    def forecast(self, start: State, commands: Commands, horizon: float,
                 start_covariance: np.ndarray | None = None) -> Forward:
        """The motion from `start` under commands for `horizon` [s], every BAND_STEP.

        Positions are relative to the start, NED. start_covariance (d, d): of the initial state, by
        default from the settings. Raises ParameterError if the motion diverges or the parameters
        allow none.
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
        else:     # the joints are exactly at their planned positions
            known[12:], known[:, 12:] = 0.0, 0.0
        covariance = bands(body, states, within, self._root, known, self.unexplained,
                           commands.measured and commands.arm is None)
        return Forward(run.t[::each], states, run.position[::each], covariance)

    def _body(self, commands: Commands) -> EquationsOfMotion:
        if commands.arm is None:
            return EquationsOfMotion(self._robot, self._pi)
        if not self._robot.vehicle:
            raise ParameterError("with a planned arm motion on a fixed base there is "
                                 "nothing to forecast; set twin.arm to 'efforts'.")
        return CarriedArm(self._robot, self._pi, commands.arm)


def start_covariance(config: Config, robot: RobotModel) -> np.ndarray:
    """(d, d) covariance of a measured state from sensor noise; zero for the position, which is
    relative to the start."""
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
