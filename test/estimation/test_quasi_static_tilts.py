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

"""Slow tilts and holds, as in the paper for the restoring moments: too slow to pass as motion, yet
they count."""
import numpy as np
from test_estimator import NOISE, truth_of

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.stage_runner import DONE, StageRunner
from uvms_adaptive_dynamics.control.stages import Schedule, load_schedule
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.model.sample import Sample

CONFIG = Config().with_values({"robot.joints": []})
PERIOD = 0.02
TURN, HOLD, ANGLE = 6.0, 4.0, 0.35      # [s], [s], [rad]


def angle_and_rate(t):
    """There and back, each turn in TURN and hold for HOLD; [rad], [rad/s]."""
    leg, into = divmod(t, TURN + HOLD)
    sequence = (0.0, ANGLE, -ANGLE)
    start, end = sequence[int(leg) % 3], sequence[(int(leg) + 1) % 3]
    phase = np.pi * min(into / TURN, 1.0)
    rate = (end - start) * np.pi / TURN * np.sin(phase) / 2 if into < TURN else 0.0
    return start + (end - start) * (1 - np.cos(phase)) / 2, rate


def tilt_samples(robot, pi, seconds, rng):
    """Roll, then pitch, in turns of three legs; otherwise at rest."""
    for k in range(round(seconds / PERIOD)):
        t = k * PERIOD
        axis = int(t / (3 * (TURN + HOLD))) % 2
        angle, rate = angle_and_rate(t)
        rpy, nu = np.zeros(3), np.zeros(6)
        rpy[axis], nu[3 + axis] = angle, rate
        still = Sample(t, from_rpy(*rpy), nu, np.zeros(6), *np.zeros((3, 0)), np.zeros(6),
                       np.zeros(0), np.ones(6, bool))
        raw = robot.raw_rows(still)
        wrench = raw.Y @ pi + raw.tau_known + NOISE[:6] * rng.normal(size=6)
        yield Sample(t, still.R_nb, nu, still.nu_dot, *np.zeros((3, 0)), wrench, np.zeros(0),
                     np.ones(6, bool))


def test_restoring_is_learnt_from_slow_tilts_and_the_stage_sees_it():
    """The stage ends before its limit, although most rows hardly change within a second; net
    buoyancy and the moments are then accurate and narrow, and nothing else has changed."""
    robot = RobotModel.from_config(CONFIG)
    truth = truth_of(CONFIG, robot)
    estimator = Estimator(CONFIG, perturbed(prior_from_config(CONFIG, robot), 2, 1), robot)
    restoring = load_schedule("paper", robot.table).stages[-1]
    runner = StageRunner(Schedule("tilts", (restoring,)), estimator, lambda line: None)
    moved, rows = 0, 0
    for k, sample in enumerate(tilt_samples(robot, truth, 88.0, np.random.default_rng(0))):
        if estimator.add(sample) is not None:
            moved, rows = moved + estimator.excited.in_motion[3:5].sum(), rows + 2
            runner.follow()
            if k % 5 == 0:
                estimator.solve()
    end, = runner.ended
    assert end.why == DONE
    assert moved < .5 * rows
    index = robot.table.index
    both = np.zeros(robot.table.size)
    both[index["W"]], both[index["B"]] = 1.0, -1.0
    # an hour's mean would have less noise; a hold only gives the mean of about a second
    assert abs(both @ (estimator.pi - truth)) < 0.5
    assert np.sqrt(both @ estimator.covariance @ both) < 0.5
    for name in ("xgW_xbB", "ygW_ybB", "zgW_zbB"):
        assert abs((estimator.pi - truth)[index[name]]) < .1
    held = [i for i in range(robot.table.size) if robot.table.names[i] not in restoring.free]
    np.testing.assert_array_equal(estimator.pi[held], estimator.prior.values[held])
