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

"""Every public function refuses an argument of the wrong kind or shape in one sentence that names
it, rather than with an error of Python somewhere inside."""
from dataclasses import fields, replace

import numpy as np
import pytest

import uvms_adaptive_dynamics as uvms
from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.model.prior import prior_from_config

WRONG = {"None": None, "text": "x", "mapping": {}, "integer": 3, "object": object(),
         "square": np.zeros((2, 2)), "list": [1, 2], "NaN": np.nan, "words": np.array(["a"] * 3),
         "ragged": [[1], [1, 2]], "vector": np.full(10, np.nan),
         "complex": 1j * np.ones(75)}
CONFIG = uvms.Config()
ROBOT = uvms.RobotModel.from_config(CONFIG)
PRIOR = prior_from_config(CONFIG, ROBOT)
STATE = uvms.State(np.eye(3), np.zeros(6), np.array([3.0, 1.7, 1.7, 2.8]), np.zeros(4))
TAU, COVARIANCE = np.zeros(10), np.eye(PRIOR.values.size)
IDENTIFIED = uvms.Identified(CONFIG, ROBOT, PRIOR)
SITUATION = uvms.Situation(("surge",), np.zeros(1), 0.0, 0.0)
ESTIMATOR = uvms.Estimator(CONFIG, robot=ROBOT)
SAMPLE = uvms.Sample(1.0, np.eye(3), np.zeros(6), np.zeros(6), STATE.mu, *np.zeros((2, 4)),
                     np.zeros(6), np.zeros(4), np.ones(10, bool))
AT = {"robot": ROBOT, "state": STATE, "pi": PRIOR.values}
CALLS = [
    (uvms.Config, {section: getattr(CONFIG, section) for section in ("robot", "dvl", "twin")}),
    (CONFIG.with_values, {"values": {}}),
    (uvms.load_config, {"path": None}),
    (uvms.RobotModel, {"config": CONFIG, "arm": None}),
    (uvms.RobotModel.from_config, {"config": CONFIG}),
    (uvms.Mount, {"xyz": (0.0, 0.0, 0.0), "rpy": (0.0, 0.0, 0.0)}),
    (uvms.Estimator, {"config": CONFIG, "prior": PRIOR, "robot": ROBOT, "start": None}),
    (ESTIMATOR.step, {"sample": SAMPLE}),
    (ESTIMATOR.restart, {"saved": None}),
    (ESTIMATOR.set_free, {"free": ["axis_b.*"]}),
    (uvms.Feedforward, {"robot": ROBOT, "prior": PRIOR, "config": CONFIG}),
    (uvms.validity, {"now": SITUATION}),
    (uvms.mass_matrix, AT), (uvms.coriolis, AT), (uvms.damping, AT), (uvms.gravity, AT),
    (uvms.friction, AT),
    (uvms.inverse_dynamics, {**AT, "nu_dot": np.zeros(6), "mu_ddot": np.zeros(4),
                             "covariance": COVARIANCE}),
    (uvms.forward_dynamics, {**AT, "tau": TAU, "covariance": COVARIANCE,
                             "disturbance": np.eye(10)}),
    (uvms.simulate, {"robot": ROBOT, "start": STATE, "efforts": lambda t: TAU, "pi": PRIOR.values,
                     "duration": 0.02, "covariance": COVARIANCE, "disturbance": None,
                     "start_covariance": None, "step": 0.01}),
    (uvms.vehicle_regressor, {"nu": np.zeros(6), "nu_dot": np.zeros(6), "R_nb": np.eye(3)}),
    (uvms.Identified, {"config": CONFIG, "robot": ROBOT, "parameters": PRIOR, "mass": None}),
    (uvms.export_as, {"identified": IDENTIFIED, "name": "table"}),
    (uvms.physical_quantities, {"identified": IDENTIFIED}),
    (uvms.read_export, {"name": "table", "text": "", "config": CONFIG}),
    (uvms.load_parameters, {"path": "nowhere.yaml"}),
    (uvms.save_parameters, {"path": "nowhere/parameters.yaml", "parameters": PRIOR}),
]
# What the probe takes for wrong, and these arguments take for what it is.
RIGHT = {("Estimator", "prior", "None"), ("Estimator", "robot", "None"),
         ("Feedforward", "config", "None"), ("RobotModel", "arm", "None"),
         ("with_values", "values", "mapping"), ("set_free", "free", "mapping"),
         ("simulate", "duration", "integer"), ("simulate", "step", "integer"),
         ("Identified", "mass", "integer"), ("Identified", "mass", "NaN"),
         ("forward_dynamics", "tau", "vector"),
         *(("simulate", name, "None") for name in ("covariance", "disturbance",
                                                   "start_covariance")),
         *((name, "covariance", "None") for name in ("inverse_dynamics", "forward_dynamics")),
         ("forward_dynamics", "disturbance", "None"), ("load_config", "path", "None"),
         ("Identified", "mass", "None"),
         ("Estimator", "start", "None"), ("restart", "saved", "None"),
         ("save_parameters", "path", "text")}


@pytest.mark.parametrize("function, arguments", CALLS, ids=lambda one: getattr(
    one, "__name__", ""))
def test_an_argument_of_another_kind_is_refused(function, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in arguments:
        for word, wrong in WRONG.items():
            if (function.__name__, name, word) not in RIGHT:
                with pytest.raises(UvmsError):
                    function(**{**arguments, name: wrong})
                    pytest.fail(f"{function.__name__}({name}={word}) was accepted")


@pytest.mark.parametrize("use", [
    lambda known: uvms.Estimator(CONFIG, robot=ROBOT, start=known),
    lambda known: uvms.Feedforward(ROBOT, known, CONFIG),
    lambda known: uvms.save_parameters("known.yaml", known)], ids=["start", "feedforward", "save"])
def test_a_parameter_set_of_other_parts_is_refused(use, tmp_path, monkeypatch):
    """Whichever of its fields is of another kind or shape: with a sentence that names it."""
    monkeypatch.chdir(tmp_path)
    for field in fields(uvms.ParameterSet):
        for wrong in (WRONG["square"], WRONG["words"], WRONG["object"], WRONG["ragged"]):
            with pytest.raises(UvmsError, match=field.name.split("_")[0]):
                use(replace(PRIOR, **{field.name: wrong}))


def test_a_situation_of_other_parts_is_refused():
    for name in ("channels", "row_age", "tick_age", "solve_age"):
        with pytest.raises(UvmsError, match=name):
            uvms.validity(replace(SITUATION, **{name: object()}))


def test_the_sentence_says_what_was_expected():
    """And how to get it."""
    with pytest.raises(UvmsError, match=r"start: got 'a.yaml', expected a ParameterSet; use "
                                        r"load_parameters\(path\)\."):
        uvms.Estimator(CONFIG, robot=ROBOT, start="a.yaml")
    with pytest.raises(UvmsError, match=r"pi: got array.*, expected numbers of shape \(75,\)\."):
        uvms.gravity(ROBOT, STATE, np.zeros(3))
    with pytest.raises(UvmsError, match=r"state\.mu: got .* expected numbers of shape \(4,\)"):
        uvms.gravity(ROBOT, uvms.State(np.eye(3), np.zeros(6), np.zeros(3), np.zeros(4)),
                     PRIOR.values)
