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

"""The likely cause of lost trust."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.model.sample import Misread
from uvms_adaptive_dynamics.uncertainty.trust import (
    MM,
    MP,
    TRUST_DOUBTFUL,
    TRUST_WRONG,
    ChannelTrust,
    M,
)
from uvms_adaptive_dynamics.uncertainty.trust_cause import (
    Factors,
    common_scale,
    factors,
    likely_cause,
)

CHANNELS = ("surge", "sway", "heave", "roll", "pitch", "yaw", "axis_e", "axis_d", "axis_c")
C, VEHICLE, PERIOD, STDDEV = len(CHANNELS), np.arange(9) < 6, 0.02, 0.05


def trusted(factor, seconds=20.0, seed=0):
    """The trust of channels whose efforts are `factor` (C,) times predicted."""
    rng = np.random.default_rng(seed)
    t = PERIOD * np.arange(round(seconds / PERIOD))
    frequency, phase = rng.uniform(0.1, 0.6, (C, 1)), rng.uniform(0, 6.28, (C, 1))
    predicted = np.sin(2 * np.pi * frequency * t + phase).T
    trust = ChannelTrust(C, PERIOD, 12.3)
    trust.restart(np.full(C, STDDEV), known=True)
    yes = np.ones(C, bool)
    for p in predicted:
        trust.add_row(factor * p + STDDEV * rng.normal(size=C), p, yes, yes, np.zeros(C),
                      np.full(C, STDDEV))
    return trust


def said(factor):
    trust = trusted(np.array(factor, float) * np.ones(C))
    return likely_cause(CHANNELS, 6, trust.levels, trust.batches).sentence


def test_nothing_is_said_of_a_right_model():
    """All slopes are one."""
    assert said(1.0) == ""


@pytest.mark.parametrize(("factor", "begin", "value"), [
    (2.0, "all channels", 2.0), (np.where(VEHICLE, 1 / 1.3, 1.0), "vehicle", 0.77),
    (np.where(VEHICLE, 1.0, 2.0), "joints", 2.0)])
def test_one_scale_is_named_with_its_value(factor, begin, value):
    """A scale of all channels, of the vehicle's or of all joints is named, within 5 %."""
    sentence = said(factor)
    assert sentence.startswith(begin) and "one scale" in sentence
    number = float(sentence.partition("measured effort is ")[2].split()[0])
    assert number == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize(("factor", "subjects"), [
    (1.0, []), (np.where(np.arange(C) == 7, -3.0, 1.0), ["axis_d"]),
    (np.where(VEHICLE, 1 / 1.3, 1.0), ["scale of vehicle"])])
def test_it_is_about_what_is_wrong_and_a_scale(factor, subjects):
    """A channel that is doubtful alone is no subject."""
    trust = trusted(factor * np.ones(C))
    found = likely_cause(CHANNELS, 6, trust.levels, trust.batches)
    wrong = [name for name, level in zip(CHANNELS, trust.levels) if level == TRUST_WRONG]
    assert found.subjects == {*subjects, *wrong} and bool(found.sentence) == bool(subjects)


def test_a_setting_is_a_subject_once_what_depends_on_it_is_wrong():
    levels, of_dvl = np.zeros(C, int), [Misread("dvl.frame", (0, 1))]
    for level, subjects in ((TRUST_DOUBTFUL, set()), (TRUST_WRONG, {"dvl.frame"})):
        levels[1] = level
        found = likely_cause(CHANNELS, 6, levels, trusted(np.ones(C)).batches, of_dvl)
        assert found.subjects == subjects and "because of dvl.frame" in found.sentence


def test_one_channel_alone_is_named_with_its_factor():
    """One joint's effort is doubled."""
    sentence = said(np.where(np.arange(C) == 7, 2.0, 1.0))
    assert sentence.startswith("axis_d alone") and "2.0" in sentence and "one scale" not in sentence
    assert sentence.endswith("; check its residuals and move it more")


@pytest.mark.parametrize("factor", [2.0, -1.0])
def test_a_sign_that_has_turned_about_is_asked_for(factor):
    """As after a driver's restart; a doubled effort has its sign."""
    sentence = said(np.where(np.arange(C) == 7, factor, 1.0))
    assert ("times predicted: is its sign wrong?)" in sentence) == (factor < 0)


@pytest.mark.parametrize("place, factor", [(2, -1.0), (7, -0.6)])
def test_what_opposes_the_prediction_need_not_have_the_wrong_sign(place, factor):
    """A vehicle that waves move thrusts against its motion, and its axes have no sign of their own;
    an effort with the wrong sign has the right size."""
    sentence = said(np.where(np.arange(C) == place, factor, 1.0))
    assert "times predicted)" in sentence and "sign" not in sentence


def test_channels_without_a_cause_are_named_together_with_what_to_do():
    """Doubtful for want of motion: residuals have no factor in common."""
    levels = np.zeros(C, int)
    levels[[4, 5]] = TRUST_DOUBTFUL
    assert likely_cause(CHANNELS, 6, levels, trusted(np.ones(C)).batches).sentence == (
        "pitch, yaw doubtful; check their residuals and move them more")


@pytest.mark.parametrize(("seconds", "stddev"), ((2.0, STDDEV), (20.0, 1.0)))
def test_what_is_doubtful_for_want_of_data_accuses_no_sensor(seconds, stddev):
    """In the first seconds of any run, before a channel is judged, and while intervals are as wide
    as the efforts."""
    rng, trust, yes = np.random.default_rng(0), ChannelTrust(C, PERIOD, 12.3), np.ones(C, bool)
    trust.restart(None)
    for t in np.arange(0.0, seconds, PERIOD):
        predicted = np.full(C, np.sin(t))
        trust.add_row(predicted + STDDEV * rng.normal(size=C), predicted, yes, yes, np.zeros(C),
                      np.full(C, stddev))
    assert (trust.levels == TRUST_DOUBTFUL).all()
    assert likely_cause(CHANNELS, 6, trust.levels, trust.batches).sentence == (
        f"{', '.join(CHANNELS)} doubtful; check their residuals and move them more")


def test_channels_without_a_measured_effort_have_no_factor():
    """With thrusters off the effort is exactly zero, which is not a factor of zero."""
    nothing = Factors(np.zeros(C), np.zeros(C))
    with np.errstate(all="raise"):
        assert common_scale(nothing, np.arange(C)) is None


def test_an_effort_that_predictions_do_not_explain_has_no_factor():
    """As of a vehicle that a tether drags while its thrusters are neutral: zero times the
    prediction leaves all of it."""
    sentence = said(np.where(np.arange(C) == 7, 0.0, 1.0))
    assert sentence == "axis_d alone wrong; check its residuals and move it more"


def test_a_vehicle_that_moves_without_thrust_is_told_to_be_given_some():
    """Its thrust curve and DVL cannot be judged."""
    batches = trusted(np.ones(C)).batches.copy()
    batches[:, [M, MM, MP], :6] = 0.0
    levels = np.where(VEHICLE, TRUST_DOUBTFUL, 0)
    assert likely_cause(CHANNELS, 6, levels, batches).sentence == (
        "vehicle doubtful: it moved without thrust (arm, swell, tether); give thrust on every axis")


def test_different_factors_are_no_common_scale():
    """Every joint is off by a different factor."""
    sentence = said([1, 1, 1, 1, 1, 1, 2.0, 0.4, 1.5])
    assert sentence.startswith("joints") and "no common factor" in sentence


def test_factors_have_the_error_that_they_say():
    """Over many draws their scatter matches their standard error within a quarter."""
    found = [factors(trusted(np.full(C, 1.5), seed=seed).batches) for seed in range(40)]
    spread = np.std([f.value for f in found], axis=0)
    stated = np.mean([f.error for f in found], axis=0)
    assert np.mean(spread / stated) == pytest.approx(1.0, abs=0.25)


def test_a_scale_of_one_is_none():
    """Healthy channels have no scale to report."""
    assert common_scale(factors(trusted(np.ones(C)).batches), np.arange(C)) is None


@pytest.mark.parametrize("factor, found", [(1.0, None), (0.5, 0.55), (2.0, 1.8)])
def test_errors_of_the_predictions_are_no_scale(factor, found):
    """They make every slope smaller: "all channels: one scale, measured effort is .92 +- .02 times
    predicted; check what all efforts share" was said of three healthy robots of ten."""
    rng, trust, yes = np.random.default_rng(4), ChannelTrust(C, PERIOD, 12.3), np.ones(C, bool)
    trust.restart(np.full(C, STDDEV), known=True)
    t = PERIOD * np.arange(1000)
    true, wrong = (np.sin(2 * np.pi * rng.uniform(0.1, 0.6, (C, 1)) * t
                          + rng.uniform(0, 6.28, (C, 1))).T for _ in range(2))
    for one, other in zip(true, wrong):
        trust.add_row(factor * one, one + 0.35 * other, yes, yes, np.zeros(C), np.full(C, STDDEV))
    scale = common_scale(factors(trust.batches), np.arange(C))
    assert (scale and scale[0]) == (found and pytest.approx(found, abs=0.06))


def test_what_is_found_wrong_is_the_cause_and_no_other_is_looked_for():
    """The joints' scale is still named after it."""
    factor = np.where(VEHICLE, 1 / 1.3, 2.0)
    trust = trusted(factor)
    found = (Misread("dvl.frame", tuple(range(6))), Misread("dvl unit", tuple(range(6))))
    sentence = likely_cause(CHANNELS, 6, trust.levels, trust.batches, found).sentence
    first, second = sentence.split("; ", 1)
    assert first.startswith("surge, sway, heave, roll, pitch, yaw ")
    assert first.endswith(" because of dvl.frame, dvl unit")
    assert second.startswith("joints") and "one scale" in second
