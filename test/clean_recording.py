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

"""A recording without a fault, a held-out one, and the estimate learnt from the first and tested on
the second; several test files compare with them."""

from functools import lru_cache

import numpy as np
from frame_cases import recording
from kept import kept

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.samples import samples_of

SECONDS, UNSEEN = 40.0, 30.0  # [s] of the motion to learn from, and of the one to predict


@lru_cache
def clean_recording():
    """(messages of each role: refused, received; samples, test samples, R^2 of `held_out`)."""

    def make():
        config = Config()
        robot = RobotModel.from_config(config)
        front, samples = front_and_samples(config, robot, recording(1, SECONDS))
        counts = {role: (state.rejected.total(), state.received)
                  for role, state in front.inputs.items()}
        _, test = front_and_samples(config, robot, recording(11, UNSEEN))
        return counts, samples, test, held_out(config, robot, samples, test)

    return kept("clean_recording", make)


def front_and_samples(config, robot, messages):
    front = SignalFrontEnd(config, robot)
    return front, samples_of(front, messages)


def held_out(config, robot, train, test):
    """R^2 of each channel on `test`, frozen, after learning from `train`."""
    estimator = Estimator(config, perturbed(prior_from_config(config, robot), 2, 1), robot)
    for k, sample in enumerate(train):
        estimator.add(sample)
        if k % 50 == 49:
            estimator.solve()
    estimator.set_learning(False)
    estimator.break_off()
    return predicted_r2(estimator, test)


def predicted_r2(estimator, samples):
    """R^2 of each channel of an estimator's predictions, over the rows that count."""
    found = [p for p in map(estimator.add, samples) if p is not None]
    measured, predicted, valid = (np.array([getattr(p, name) for p in found])
                                  for name in ("measured", "predicted", "valid"))
    measured[~valid] = np.nan
    deviation = measured - np.nanmean(measured, axis=0)
    return 1 - np.nansum((measured - predicted) ** 2, axis=0) / np.nansum(deviation ** 2, axis=0)
