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

"""Effect of an accepted change on knowledge: noise learned from its residuals is dropped, and a
change that cannot be followed changes nothing."""
import numpy as np
import pytest
from information_cases import add, prediction_of, state_of
from problems import make_table

from uvms_adaptive_dynamics.estimation.accepted_change import (
    EffortChange,
    LoadChange,
    PartChange,
    Restoration,
    Scales,
    ThrustChange,
    ThrusterChange,
    VelocityChange,
)
from uvms_adaptive_dynamics.estimation.change_evidence import LoadSums
from uvms_adaptive_dynamics.estimation.row_excitation import Excited
from uvms_adaptive_dynamics.estimation.saved_cost import present_cost

TABLE = make_table(2, vehicle=False)
PI, EVERY = np.zeros(TABLE.size), np.ones(TABLE.channels, bool)
UNITY = Scales(np.ones(TABLE.channels))


def learn(state, rng, ticks, noise):
    """Add rows whose residual is pure noise."""
    for _ in range(ticks):
        Y = rng.normal(size=(TABLE.channels, TABLE.size))
        tau = noise * rng.normal(size=TABLE.channels)
        add(state, Y, tau, PI)
        state.learn_noise(prediction_of(Y, tau, PI), Excited(EVERY, EVERY))


@pytest.fixture
def changed():
    """(state, noise before) after two seconds with residuals of ten times the noise."""
    state = state_of(TABLE, PI, np.ones(TABLE.size), horizon=50, adapt_noise=True)
    rng = np.random.default_rng(0)
    learn(state, rng, 600, 1.0)
    before = state.noise_record()
    learn(state, rng, 100, 10.0)
    assert (state.noise.stddev > 1.5 * before.channels.stddev).all()
    return state, before


def same_noise(got, expected):
    """With its colour, which the residuals of the change would turn into that of a slow noise."""
    np.testing.assert_array_equal(got.residual_products, expected.residual_products)
    got, expected = got.channels, expected.channels
    np.testing.assert_array_equal(got.stddev, expected.stddev)
    for one, other in ((got.long_run, expected.long_run), (got.lasting, expected.lasting)):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


CHANGES = {"part": lambda noise: PartChange("link", 40, noise, np.array([0, 3]), "10^9 : 1"),
           "effort": lambda noise: EffortChange("effort", 40, noise, np.array([1]), 1.25, "")}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_was_known_is_kept_and_restored_with_the_noise_of_before(changed, kind):
    """Neither the running state nor the checkpoint has the change's residuals in its noise; a
    restoration returns estimate, factors and noise."""
    state, noise = changed
    followed = CHANGES[kind](noise).follow(state, PI, UNITY)
    same_noise(state.noise_record(), noise)
    same_noise(followed.before.information.noise, noise)
    learn(state, np.random.default_rng(1), 50, 10.0)
    restoration = Restoration("link", 40, noise, followed.before)
    back = restoration.follow(state, PI + 1, followed.scales)
    same_noise(state.noise_record(), noise)
    assert back.before is None and back.pi is PI and back.scales is UNITY


def test_what_cannot_be_followed_leaves_what_is_known(changed, monkeypatch):
    """Predictions are still off by these residuals, so the noise still includes them."""
    state, noise = changed
    learned, old = state.noise_record(), present_cost(state, PI)[0]
    monkeypatch.setattr(state, "marginalize", lambda places, pi: False)
    monkeypatch.setattr(state, "forget", lambda now: None)
    assert CHANGES["part"](noise).follow(state, PI, UNITY) is None
    same_noise(state.noise_record(), learned)
    np.testing.assert_allclose(present_cost(state, PI)[0], old, rtol=1e-9, atol=1e-9)


def test_a_part_begins_again_with_the_newest_rows_alone(changed):
    """40 ticks stay in the window, and older rows have no information about the part."""
    state, noise = changed
    CHANGES["part"](noise).follow(state, PI, UNITY)
    assert state.window.filled == 40
    np.testing.assert_allclose(state.problem(PI, np.ones(PI.size, bool)).arrival.H[[0, 3], [0, 3]],
                               1.0)


def test_a_factor_is_divided_out_and_nothing_else_forgotten(changed):
    """A factor that returns to one becomes exactly one; the window's rows had wrong efforts."""
    state, noise = changed
    rows = state.rows_learned
    corrected = CHANGES["effort"](noise).follow(state, PI, UNITY).scales
    np.testing.assert_allclose(corrected.effort, [1.0, .8])
    assert state.window.filled == 0 and state.rows_learned == rows
    undone = EffortChange("effort", 40, noise, np.array([1]), .79, "")
    np.testing.assert_array_equal(undone.follow(state, PI, corrected).scales.effort, UNITY.effort)


def test_a_factor_on_velocity_is_corrected_and_undone(changed):
    """With a factor on efforts present, which stays as it is."""
    state, noise = changed
    worn = Scales(np.array([1.0, .8]))
    corrected = VelocityChange("DVL scale", 40, noise, 1.25, "").follow(state, PI, worn).scales
    assert corrected.velocity == pytest.approx(.8) and corrected.effort is worn.effort
    undone = VelocityChange("DVL scale", 40, noise, .81, "").follow(state, PI, corrected).scales
    assert undone.velocity == 1.0
    assert "1.25 times what the model predicts since 3.0 s" in VelocityChange(
        "DVL scale", 40, noise, 1.25, "").sentence(3.0)


def test_a_thrusters_share_is_corrected_and_undone(changed):
    """It loses four fifths of its thrust and recovers; another, worn thruster is unaffected."""
    state, noise = changed
    worn = UNITY._replace(thruster=np.array([.9, 1.0]))
    lost = ThrusterChange("thruster 2", 40, noise, np.array([1]), np.array([-.8]), "10^9 : 1")
    corrected = lost.follow(state, PI, worn).scales
    np.testing.assert_allclose(corrected.thruster, [.9, .2])
    assert "thrust down by 80 % of nominal since 3.0 s" in lost.sentence(3.0)
    back = ThrusterChange("thruster 2", 40, noise, np.array([1]), np.array([.79]), "")
    np.testing.assert_array_equal(back.follow(state, PI, corrected).scales.thruster, [.9, 1.0])
    assert "thrust up by 79 % of nominal" in back.sentence(3.0)
    both = ThrusterChange("thrusters 1 and 2", 40, noise, np.arange(2), np.array([-.8, .1]), "")
    assert "thrust down by 80 %, up by 10 % of nominal since" in both.sentence(3.0)


@pytest.mark.parametrize("share, said", [(-1.06, 100), (-0.97, 97), (-1.3, 100), (-1.96, 196)])
def test_a_thruster_loses_no_more_than_all_its_thrust(changed, share, said):
    """A stopped one was "down by 106 %"; a reversed one loses twice its thrust. The correction is
    as found, so that a recovery by the same share gives one again."""
    state, noise = changed
    scales = UNITY._replace(thruster=np.ones(2))
    lost = ThrusterChange("thruster 2", 40, noise, np.array([1]), np.array([share]), "")
    assert f"thrust down by {said} % of nominal" in lost.sentence(3.0)
    assert ("order or signs" in lost.sentence(3.0)) == (said > 150)     # what no rope does
    assert ("rope" in lost.sentence(3.0)) == (said < 150)
    lost_scales = lost.follow(state, PI, scales).scales
    back = ThrusterChange("thruster 2", 40, noise, np.array([1]), np.array([-share]), "")
    np.testing.assert_array_equal(back.follow(state, PI, lost_scales).scales.thruster, [1.0, 1.0])


@pytest.mark.parametrize("now, share, followed", [
    (1.0, .96, False), (.2, .96, True), (-.1, 1.1, True), (1.0, .2, True), (1.0, -1.3, True),
    (1.0, -1.55, False), (1.0, -1.8, True), (-1.0, 2.1, True), (1.0, -2.5, False)])
def test_a_thruster_is_no_stronger_than_new_stopped_or_reversed(changed, now, share, followed):
    """"Thrust up by 96 %" explained a manoeuvre that the model did not, "down by 155 %" a tether
    that got taut. A recovery is possible, also where the curve is off by a tenth or two."""
    state, noise = changed
    scales = UNITY._replace(thruster=np.array([1.0, now]))
    change = ThrusterChange("thruster 2", 40, noise, np.array([1]), np.array([share]), "")
    assert change.is_possible(scales) == followed
    assert (change.follow(state, PI, scales) is not None) == followed


def test_an_effort_without_its_sign_is_possible_though_no_factor_corrects_it(changed):
    """It must not be ascribed to the joint's friction, which explains it nearly as well: what was
    learnt of that stayed after the fault was found."""
    state, noise = changed
    turned = EffortChange("joint effort scale", 40, noise, np.array([0]), -0.96, "")
    scales = Scales(np.ones(2))
    assert turned.is_possible(scales) and turned.follow(state, PI, scales) is None


def test_sentences_name_part_time_and_evidence(changed):
    """What happened, to what, since when, and what is done about it."""
    _, noise = changed
    part = CHANGES["part"](noise).sentence(12.34)
    assert part.startswith("link: dynamics changed at 12.3 s") and "10^9 : 1" in part
    effort = CHANGES["effort"](noise).sentence(3.0)
    assert "1.25 times what the model predicts since 3.0 s" in effort
    thrust = ThrustChange("thrust scale", 40, noise, np.arange(6), 1.25, "").sentence(3.0)
    assert thrust.startswith("thrust scale: all thrusters together give 0.80 times the thrust of")
    assert "since 3.0 s; what was known before the change is restored" in Restoration(
        "link", 40, noise, None).sentence(3.0)


def test_a_force_from_outside_costs_the_window_alone(changed):
    """Its rows are dropped and its residuals are not noise; old data, estimate and factors stay, so
    there is nothing to restore."""
    state, noise = changed
    state.break_off(PI, close_window=True)
    learn(state, np.random.default_rng(2), 30, 10.0)
    old = np.array(state.arrival.data())
    assert state.window.filled == 30
    followed = LoadChange("external force", 40, noise, "", None, np.zeros(3)).follow(
        state, PI, UNITY)
    assert state.window.filled == 0 and followed == (PI, UNITY, None)
    np.testing.assert_array_equal(np.array(state.arrival.data()), old)
    same_noise(state.noise_record(), noise)


def test_a_force_from_outside_is_said_with_its_size_and_direction():
    """Up is reported as up: the third axis of NED points down."""
    sums = LoadSums(np.eye(12), np.zeros(12), np.ones(6), np.ones(12))
    said = LoadChange("external force", 40, None, "10^9 : 1", sums, np.array([3.0, 4.0, -12.0]))
    assert "13.0 N on the vehicle since 50.0 s" in said.sentence(50.0)
    assert "5.0 N horizontally and 12.0 N up" in said.sentence(50.0)
    gone = LoadChange("external force", 40, None, "", None, np.zeros(3))
    assert gone.sentence(60.0) == "external force: gone since 60.0 s"
