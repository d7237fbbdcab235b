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

"""Findings about each channel: trust in its residuals and the likely cause if it is lost, faulty
readings, constant residuals, noise that was assumed too large, and impossible masses."""
from __future__ import annotations

import numpy as np

from ..config import Config
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from ..model.sample import Misread
from ..uncertainty.constant_residual import ResidualMean, noise_findings
from ..uncertainty.mass_check import mass_findings
from ..uncertainty.trust import TRUST_OK, TRUST_STATES, ChannelTrust
from ..uncertainty.trust_cause import LostTrust, likely_cause
from .estimate_uncertainty import StatedUncertainty
from .information import InformationState
from .learned import wrong_channels
from .prediction import Prediction
from .row_excitation import Excited


class ChannelFindings:
    """Judges the channels of a robot and words the findings.

    trust: of each channel, from its residuals; left_out (C,): why each channel is neither judged
    nor mentioned in advice; '' if it is."""

    def __init__(self, config: Config, robot: RobotModel, information: InformationState,
                 correlation_length: float):
        """information: the estimator's own; correlation_length: low-passed rows per independent
        one."""
        self._robot, self._information = robot, information
        self.trust = ChannelTrust(robot.table.channels, config.filter.period, correlation_length)
        self._lost: tuple[np.ndarray | None, LostTrust] = None, LostTrust("", frozenset())
        self._misread: tuple[Misread, ...] = ()
        self.change_settings(config)

    def restart(self, saved: ParameterSet, learn: bool) -> None:
        """Forget the residuals and judge those of a prior or a saved estimate from now on; findings
        about readings stay. Call `restart` before the first row."""
        known = [noise for noise in (saved.noise_stddev, saved.row_noise_stddev)
                 if noise is not None]
        # Reference noise for judging residuals, which they cannot widen: the saved one; the robot's
        # default for frozen parameters without a saved noise; else None, the learnt noise.
        reference = (np.max(known, axis=0) if known
                     else None if learn else self._robot.default_noise(self._config))
        wrong = np.flatnonzero(np.isin(self._robot.channels, wrong_channels(saved)))
        self.trust.restart(reference, assumed=saved.noise_stddev is None and reference is not None,
                           known=saved.covariance is not None, wrong=wrong)
        self._residual_mean = ResidualMean(self._robot.table.channels)

    def change_settings(self, config: Config) -> None:
        """Adopt other settings."""
        self._config, self.left_out = config, self._robot.left_out(config)
        self._unused = np.array([bool(why) for why in self.left_out])

    def break_off(self) -> None:
        """Begin a new batch of residuals after a gap in time."""
        self.trust.break_off()

    def begin_again(self) -> None:
        """Forget the residuals of parameters that have been replaced."""
        self.trust.begin_again()
        self._residual_mean = ResidualMean(self._robot.table.channels)

    def add_row(self, prediction: Prediction, excited: Excited, excused: np.ndarray) -> None:
        """Judge a row; excused (C,): variance that residuals may have without being doubted, that
        of the parameters while they are learnt, and none of frozen ones."""
        self.trust.add_row(prediction.measured, prediction.predicted,
                           prediction.valid & ~self._unused, excited.in_motion, excused,
                           self._information.noise.long_run)
        self._residual_mean.add_row(prediction.residual, excited.in_motion)

    def set_misread(self, misread: tuple[Misread, ...]) -> None:
        """Apply the faults found in sensors and settings."""
        if misread != self._misread:
            self._misread = misread
            self.trust.misread(place for one in misread for place in one.places)

    def of_residuals(self) -> list[str]:
        """Sentences about constant residuals and about noise assumed too large, except for channels
        that are left out or have faulty readings."""
        robot, table, noise = self._robot, self._robot.table, self._information.noise
        estimated = np.zeros(table.channels, bool)
        estimated[robot.vehicle_rows] = "vehicle_offsets" in table.terms
        estimated[robot.arm_rows] = "joint_offsets" in table.terms
        rows = self._information.gradient.rows_per_independent(noise.long_run ** 2)
        misread = self._unused.copy()
        misread[[place for one in self._misread for place in one.places]] = True
        return (self._residual_mean.findings(robot.channels, robot.units, estimated | misread,
                                             rows, robot.negligible)
                + noise_findings(robot.channels, robot.units, np.where(misread, 0.0, noise.stddev),
                                 noise.at_most, np.sqrt(self.trust.effort_power),
                                 self._config.estimation.adapt_noise))

    def of_masses(self, pi: np.ndarray, stated: StatedUncertainty) -> list[tuple[str, str]]:
        """Masses of the estimate pi (p,) that contradict the robot's own: (setting, sentence)
        each."""
        return mass_findings(self._robot.table, pi, stated.covariance, self._config,
                             self.trust.levels[:3] == TRUST_OK,
                             np.sqrt(self.trust.effort_power[:3]).tolist(), stated.systematic)

    def trust_cause(self) -> str:
        """The likely cause if a channel is neither `ok` nor left out, in a sentence; else ''."""
        return self.lost_trust().sentence

    def lost_trust(self) -> LostTrust:
        """The same, with what it is about."""
        levels = self.trust.levels
        if self._lost[0] is not levels:     # levels change twice a second, ticks are more frequent
            misread = [one._replace(places=places) for one in self._misread
                       if (places := tuple(c for c in one.places if not self._unused[c]))]
            vehicle_rows = 6 if self._robot.vehicle else 0
            self._lost = levels, likely_cause(self._robot.channels, vehicle_rows,
                                              np.where(self._unused, TRUST_OK, levels),
                                              self.trust.batches, misread)
        return self._lost[1]

    def trust_words(self) -> tuple[str, ...]:
        """(C,) trust state of each channel, or why it is left out."""
        return tuple(why or TRUST_STATES[level] for level, why
                     in zip(self.trust.levels.tolist(), self.left_out))
