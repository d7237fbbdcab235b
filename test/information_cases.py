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

"""An information state that gets rows directly, for the tests of the estimation room."""
import numpy as np
from problems import Unconstrained

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.information import InformationState
from uvms_adaptive_dynamics.estimation.prediction import Prediction
from uvms_adaptive_dynamics.estimation.prior_information import PriorInformation
from uvms_adaptive_dynamics.estimation.row_excitation import Excited


def state_of(table, prior, stddev, noise=None, free=None, physical=None, **estimation):
    """A state that starts from a prior (p,) with deviations (p,), unconstrained unless `physical`
    is given; noise (C,) keeps its default unless given."""
    settings = {"adapt_noise": False, **estimation}
    config = Config().with_values({f"estimation.{name}": value for name, value in settings.items()})
    noise = np.ones(table.channels) if noise is None else noise
    state = InformationState(config, physical or Unconstrained(table), np.ones(1), noise,
                             np.zeros(table.size))
    free = np.ones(table.size, bool) if free is None else free
    state.restart(
        PriorInformation.from_stddev(np.array(prior, float), np.array(stddev, float), free))
    return state


def prediction_of(Y, tau, pi, valid=None, t=0.0, doubt=0.0, unlearnt=None):
    """The prediction of rows Y (C, p), tau (C,) by pi (p,); doubt: its variance due to the
    parameters; unlearnt: the part of it that no row has taught, None: all of it."""
    C = len(tau)
    valid = np.ones(C, bool) if valid is None else valid
    predicted = Y @ pi
    return Prediction(t, np.array(pi), predicted, doubt * np.eye(C), np.ones(C),
                      np.full(C, doubt if unlearnt is None else unlearnt), np.array(tau),
                      tau - predicted, np.array(valid), np.array(Y), np.zeros(C))


def add(state, Y, tau, pi, learnt=None, in_motion=None, doubt=0.0, unlearnt=None):
    """Add rows to the state directly."""
    learnt = np.ones(len(tau), bool) if learnt is None else learnt
    state.add_row(prediction_of(Y, tau, pi, learnt, doubt=doubt, unlearnt=unlearnt),
                  Excited(learnt, learnt if in_motion is None else in_motion))


def finish(state):
    """Let the channels' factors catch up with a map of the old rows."""
    while state._unfinished is not None:
        state.forget()
