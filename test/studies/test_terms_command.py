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

"""`terms`: the decision rests on held-out evidence, never on the fit."""
import argparse
import json
import re

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.linear_data import linear_samples
from uvms_adaptive_dynamics.studies.terms import command, search
from uvms_adaptive_dynamics.studies.terms.comparison import compare
from uvms_adaptive_dynamics.studies.terms.trial import HeldOutRows, SampleSets, with_terms

ARM = Config().with_values({"robot.vehicle": False, "robot.joints": ["axis_c", "axis_b"],
                            "imu.enabled": False, "dvl.enabled": False, "depth.enabled": False,
                            "thrusters.source": "zero"})


def outcome(residual):
    """An outcome at 50 Hz with residual (T, C) and zero prediction."""
    return HeldOutRows(np.arange(len(residual)) / 50, residual, np.zeros_like(residual),
                       np.ones(residual.shape, bool))


def correlated(rng, rows, channels, time=0.5):
    """Residuals with a correlation time [s] and unit deviation."""
    a, x = np.exp(-0.02 / time), np.zeros((rows, channels))
    noise = rng.normal(size=(rows, channels)) * np.sqrt(1 - a * a)
    for k in range(1, rows):
        x[k] = a * x[k - 1] + noise[k]
    return x


def test_ratio_is_that_of_the_rmse():
    """Ratios by channel match numpy, and the mean is their geometric mean."""
    rng = np.random.default_rng(0)
    one, other = (correlated(rng, 3000, 3) for _ in range(2))
    found = compare(outcome(one), outcome(other), 1)
    expected = np.sqrt((other ** 2).mean(axis=0) / (one ** 2).mean(axis=0))
    np.testing.assert_allclose([ratio.value for ratio in found.channels], expected)
    assert found.mean.value == pytest.approx(np.exp(np.log(expected).mean()))


def test_what_changes_nothing_is_seldom_worth_it():
    """For equally good predictions with time-correlated errors, at most 5 % of 200 comparisons,
    plus three standard deviations of that count, call one worth it."""
    rng = np.random.default_rng(1)
    worth = 0
    for _ in range(200):
        common, a, b = (correlated(rng, 800, 2) for _ in range(3))
        worth += compare(outcome(common + 0.5 * a), outcome(common + 0.5 * b), 1).is_worth_it
    assert worth <= 200 * 0.025 + 3 * np.sqrt(200 * 0.025)


def test_a_gain_on_one_channel_does_not_pay_for_a_loss_on_another():
    rng = np.random.default_rng(2)
    one = correlated(rng, 3000, 2)
    assert compare(outcome(one), outcome(one * [0.5, 1.0]), 1).is_worth_it
    assert not compare(outcome(one), outcome(one * [0.5, 1.3]), 1).is_worth_it


def test_a_loss_as_small_as_no_gain_would_be_is_none():
    """However certain: a channel at R^2 of .99 that loses a hundredth vetoes nothing."""
    rng = np.random.default_rng(3)
    one = correlated(rng, 3000, 2)
    found = compare(outcome(one), outcome(one * [0.5, 1.01]), 1)
    assert found.channels[1].low > 1.0 and found.is_worth_it and not found.harmed


def test_what_is_not_chosen_for_the_sake_of_a_channel_is_named(monkeypatch):
    """`rotor` is worth it beside `dead_band`, but both together spoil a channel."""
    one = correlated(np.random.default_rng(4), 3000, 2)
    sizes = {(): (1.0, 1.0), ("dead_band",): (.4, 1.018), ("rotor",): (1.0, 1.0),
             ("dead_band", "rotor"): (.1, 1.036)}
    monkeypatch.setattr(search, "trial", lambda config, recordings: outcome(
        one * sizes[tuple(sorted(config.robot.terms))]))
    sets = ("dead_band", "rotor")
    found = search.search(ARM, SampleSets([], [], ()), sets)
    said = command.report(found, RobotModel.from_config(ARM), ARM, sets)
    assert found.chosen == ("dead_band",)
    assert re.search(r"dead_band, rotor: worth it on the whole, but not chosen, .* \(axis_b 1.036",
                     said)


def test_sets_are_replaced_and_others_stay():
    """A trial switches only the sets tried, which may include `estimate_rotor_inertia`."""
    config = ARM.with_values({"robot.terms": ["dead_band"], "robot.estimate_rotor_inertia": True})
    found = with_terms(config, ("friction_by_direction",), ("rotor", "friction_by_direction"))
    assert set(found.robot.all_terms) == {"dead_band", "friction_by_direction", "joint_offsets"}
    assert search.applicable(ARM) == ("rotor", "friction_by_direction", "dead_band")
    assert "link_drag" in search.applicable(Config()) and "current" in search.applicable(Config())


@pytest.fixture(scope="module")
def recordings():
    """An arm with twice the friction in one direction."""
    config = with_terms(ARM, ("friction_by_direction",), ())
    robot = RobotModel.from_config(config)
    pi = prior_from_config(config, robot).values.copy()
    pi[robot.table.places(["axis_c.fv_fwd", "axis_b.fv_bwd"])] = 0.8, 0.4
    learn, held_out = (list(linear_samples(config, robot, pi, 20.0, seed)) for seed in (1, 2))
    return SampleSets([learn], held_out, ())


@pytest.mark.campaign
def test_the_set_that_the_robot_has_is_chosen_and_no_other(recordings, monkeypatch, capsys,
                                                           tmp_path):
    """The command prints a table and a line to paste, and writes the same figures as JSON."""
    monkeypatch.setattr(command, "read_recordings", lambda *given: recordings)
    monkeypatch.setattr(command.options, "config_of", lambda args: ARM)
    args = argparse.Namespace(bags=["held_out"], hold_out=0.3, output=tmp_path / "terms.json",
                              sets=["rotor", "friction_by_direction"])
    assert command.run(args) == 0
    said = capsys.readouterr().out
    assert "robot.terms: [friction_by_direction]" in said and "  worth it; better: " in said
    found = json.loads((tmp_path / "terms.json").read_text())
    assert found["chosen"] == ["friction_by_direction"]
    assert found["with"]["r2"]["axis_b"] > found["without"]["r2"]["axis_b"]
    assert not found["alone"]["rotor"]["against"]["worth_it"]


def test_sets_that_the_robot_cannot_have_are_refused(monkeypatch):
    monkeypatch.setattr(command.options, "config_of", lambda args: ARM)
    args = argparse.Namespace(bags=["x"], hold_out=0.3, output=None, sets=["current"])
    with pytest.raises(ConfigError, match="robot.vehicle to be true"):
        command.run(args)
