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

"""Dead zones and laws of thrust, found from thrust and motion alone."""

import itertools

import numpy as np
import pytest
from campaign_cases import also, first
from test_thruster_check import ALLOCATION, DRAG, MASS, STEP, STRIDE

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.config.thrusters import ZONE_CUT, ZONE_SHIFT
from uvms_adaptive_dynamics.signals.checks.response_check import (
    TRIED_RESPONSES,
    _Fitted,
    _matters,
    response_findings,
)
from uvms_adaptive_dynamics.signals.checks.thruster_windows import thrust_windows
from uvms_adaptive_dynamics.signals.filters.command_response import (
    POWER,
    TriedResponses,
    acting,
)

FULL = 40.0     # [N] a full command


def logs(response, seed, seconds=60.0, tether=0.0, loss=0.0,
         held=(0.0, 0.0)):
    """(thrust, tried, dvl) as the frame checks log them, of thrusters that give response(command)
    for a command (N,) [N]; the controller does not know it. tether: its pull [N], which wanders.
    loss [N^1/2 s/m]: of thrust, per speed of advance and root of the thrust; held [s]: from when to
    when something holds the vehicle."""
    rng, tried = np.random.default_rng(seed), TriedResponses(TRIED_RESPONSES)
    frequency, phase = rng.uniform(0.5, 2.0, (2, 6)), rng.uniform(0.0, 6.0, (2, 6))
    size = np.array([0.3, 0.3, 0.3, 0.15, 0.15, 0.3])
    nu, impulse = np.zeros(6), np.zeros((1 + len(TRIED_RESPONSES), 8))
    thrust, others, dvl = [], [], []
    for k in range(round(seconds / STEP)):
        t = STEP * k
        wanted = 0.5 * size * np.sin(frequency * t + phase).sum(axis=0)
        if held[0] <= t < held[1]:
            nu = np.zeros(6)
        command = np.linalg.pinv(ALLOCATION) @ (40.0 * MASS / 4.0 * (wanted - nu))
        if k % STRIDE == 0:
            thrust.append([t, *impulse[0]])
            others.append([t, *impulse[1:].ravel()])
            seen = nu + np.repeat([0.005, 0.001], 3) * rng.standard_normal(6)
            dvl.append([t, *seen, *np.zeros(14), 1.0])
        impulse = impulse + STEP * np.vstack(
            [command, tried.bent(tried.acting(command, FULL, command))])
        pull = tether * np.r_[np.sin(0.3 * t + phase[0, :3]), np.zeros(3)]
        lost = loss * np.sqrt(np.abs(command)) * (nu @ ALLOCATION)
        nu = nu + STEP * (ALLOCATION @ (response(command) - lost) + pull - DRAG * nu) / MASS
    return np.array(thrust), np.array(others), np.array(dvl)


def found(made, **settings):
    thrusters = Config().with_values({f"thrusters.{name}": value
                                      for name, value in settings.items()}).thrusters
    thrust, tried, dvl = made
    return response_findings(thrust_windows(thrust, dvl), tried, dvl, ALLOCATION, thrusters)


@pytest.mark.parametrize("seed", first(1, range(2)))
@pytest.mark.parametrize("kind, zone", [(ZONE_SHIFT, .05), also(ZONE_SHIFT, .08),
                                        (ZONE_CUT, .056), also(ZONE_CUT, .08)])
def test_a_dead_zone_is_found_with_its_value(kind, zone, seed):
    """With both settings to paste; and one that is set already is no news."""
    made = logs(lambda command: acting(command, zone * FULL, kind), seed)
    (finding,) = found(made)
    assert finding.setting == "thrusters.dead_zone" and "within 0.0" in finding.sentence
    assert finding.values["thrusters.dead_zone_kind"] == kind
    assert finding.values["thrusters.dead_zone"] == pytest.approx(zone, abs=0.01)
    as_set = made[1][:, 1:].reshape(len(made[1]), -1, 8)
    places = [k for k, one in enumerate(TRIED_RESPONSES)
              if one.kind == kind and abs(one.value - zone) < 0.02]
    known = np.column_stack([made[0][:, 0], as_set[:, places].mean(axis=1)])
    assert found((known, *made[1:]), dead_zone=zone, dead_zone_kind=kind) == []


@pytest.mark.parametrize("seed", first(1, range(3)))
@pytest.mark.parametrize("share, tether", [(1.0, 0.0), (1.0, 5.0), (0.7, 5.0)])
def test_thrusters_that_follow_their_curve_have_none(seed, share, tether):
    """Nor do weak ones."""
    assert found(logs(lambda command: share * command, seed, tether=tether)) == []


@pytest.mark.parametrize("seed", first(1, range(2)))
@pytest.mark.parametrize("exponent", [0.5, 2.0])
def test_another_law_of_thrust_is_no_dead_zone(seed, exponent):
    """Commands that act by their square, where the settings say in proportion, or the reverse."""
    made = logs(lambda command: np.sign(command) * np.abs(command) ** exponent * 8.0
                ** (1.0 - exponent), seed)
    (finding,) = found(made)
    assert finding.setting == "thrusters.curve" and not finding.values
    assert "with the power" in finding.sentence


@pytest.mark.parametrize("loss", [also(3.0), 4.5])
def test_thrust_that_is_lost_to_the_speed_of_advance_is_no_other_law(loss):
    """As of any propeller. The tried losses are 1.5 apart and more."""
    for seed in range(3):
        assert found(logs(lambda command: command, seed, loss=loss)) == []


def test_rows_of_the_same_time_are_survived():
    """A driver may repeat a stamp."""
    thrust, tried, dvl = logs(lambda command: command, 0, loss=3.0)
    assert found((thrust, tried, np.insert(dvl, [100, 100, 100, 200], dvl[[100] * 3 + [200]],
                                           axis=0))) == []


def test_an_axis_at_rest_is_not_judged():
    """There, thrust works against a tether or the floor."""
    thrust, tried, dvl = logs(lambda command: acting(command, 0.08 * FULL, ZONE_SHIFT), 0)
    dvl[:, 2] = 0.0
    assert found((thrust, tried, dvl)) == []


def test_a_law_is_not_named_where_a_negligible_dead_zone_explains_as_much():
    """A dead zone of .017 and a power of 1.2 are as likely."""
    likely = [_Fitted(POWER, 1.228, 0.041, 0.0, np.zeros(10)),
              _Fitted(ZONE_SHIFT, 0.017, 0.002, 1.0, np.zeros(10))]
    matters = [_matters(one, Config().thrusters) for one in likely]
    assert matters == [True, False]
    assert _matters(likely[1]._replace(value=0.05), Config().thrusters)


@pytest.mark.parametrize("kind", [ZONE_SHIFT, ZONE_CUT])
def test_a_dead_zone_as_small_as_that_of_another_voltage_is_not_named(kind):
    """An unmeasured battery voltage is no fault of the thrusters."""
    assert found(logs(lambda command: acting(command, 0.012 * FULL, kind), 0)) == []


@pytest.mark.parametrize("seed", range(2))
def test_what_holds_for_a_fifth_of_the_time_is_no_law_of_thrust(seed):
    """A dead zone for 12 s of a minute: over the whole time, a square root of the thrust has odds
    of 1e16 against the settings."""
    steps = itertools.count(1)

    def response(command):
        has_zone = 5.0 < STEP * next(steps) < 17.0
        return acting(command, 0.15 * FULL * has_zone, ZONE_SHIFT)

    assert found(logs(response, seed)) == []


def test_a_vehicle_that_is_held_is_no_witness_of_thrust():
    """What holds it takes any thrust: in a dock, thrust "went with the power .59"."""
    thrust, _, dvl = logs(lambda command: command, 0, held=(30.0, 50.0))
    windows, t = thrust_windows(thrust, dvl), dvl[:, 0]
    inside = (t[:-windows.lag] > 30.5) & (t[windows.lag:] < 49.5)
    assert inside.any() and not windows.inside[inside].any() and windows.inside[~inside].any()
