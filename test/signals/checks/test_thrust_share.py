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

"""How much thrust a thruster still gives, from rows before and after it has become weak."""
import numpy as np
import pytest
from campaign_cases import first
from test_thruster_check import ALLOCATION, logs

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.checks.finding import CheckResult, Finding
from uvms_adaptive_dynamics.signals.checks.suite import SensorChecks
from uvms_adaptive_dynamics.signals.checks.thrust_share import share_since
from uvms_adaptive_dynamics.signals.checks.weak_thruster import LITTLE, of_thrust

FIRST, ONSETS = 30.0, (20.0, 25.0, 30.0, 35.0)


def weakened(thruster, share, seed=0):
    """(thrust, dvl) of a vehicle whose thruster gives only a share of its thrust from FIRST [s].
    Its controller is weak enough to stay stable with one that pushes backwards."""
    return logs(np.ones(8), seed=seed, seconds=60.0, gain=5.0,
                later=(FIRST, np.where(np.arange(8) == thruster, share, 1.0)))


@pytest.mark.parametrize("thruster", first(1, [3, 0, 5]))
@pytest.mark.parametrize("share", [-1.0, -0.4, 0.0, 0.3, 0.6, 1.0])
def test_the_share_is_that_of_the_thrust(thruster, share):
    """Whatever the motion leaves unexplained of the other thrusters' commands."""
    found = share_since(*weakened(thruster, share), ALLOCATION, thruster, ONSETS)
    assert found == pytest.approx(share, abs=0.1)


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_what_waves_hide_is_not_taken_for_none(seed):
    """Six seconds after half of the thrust was lost, -1.0 to 1.0 were the likeliest."""
    share = np.where(np.arange(8) == 3, 0.5, 1.0)
    thrust, dvl = logs(np.ones(8), 36.0, seed, noise=0.03, later=(30.0, share))
    rng = np.random.default_rng(seed)
    w, phase = 2 * np.pi * rng.uniform(0.15, 0.4, (6, 6)), rng.uniform(0.0, 6.0, (6, 6))
    waves = np.sin(dvl[:, 0, None, None] * w + phase).sum(axis=2)
    dvl[:, 1:7] += waves * np.array([0.1, 0.1, 0.1, 0.05, 0.05, 0.1])
    assert share_since(thrust, dvl, ALLOCATION, 3, (25.0, 30.0)) == pytest.approx(0.5, abs=0.25)


def test_without_motion_or_an_onset_nothing_is_told():
    thrust, dvl = weakened(3, 0.3)
    assert share_since(thrust, dvl, ALLOCATION, 3, ()) is None
    assert share_since(thrust, dvl[:20], ALLOCATION, 3, ONSETS) is None


WEAK = Finding("thrusters.efficiency", f"thruster 4 gives {LITTLE} of it",
               mend=of_thrust(3, 0.0, 8))


def checks_of(signs=(1.0,) * 8):
    """The checks of a vehicle with these signs of its thrusters."""
    config = Config().with_values({"thrusters.allocation": ALLOCATION.ravel().tolist(),
                                   "thrusters.signs": signs})
    return SensorChecks(config, RobotModel.from_config(config), tuple)


def test_the_finding_takes_the_share_from_the_logs():
    """It says how much is left, and puts right as much as is lost; other findings stay."""
    checks = checks_of()
    thrust, dvl = weakened(3, 0.5)
    given = {"thrust": thrust, "dvl": dvl}
    weak = CheckResult([WEAK], True)
    (finding,) = checks.with_share(weak, given, ONSETS).findings
    assert finding.mend.of_thrust and finding.sentence == "thruster 4 gives about 50 % of it"
    np.testing.assert_allclose(np.diag(finding.mend.matrix), [1, 1, 1, 0.5, 1, 1, 1, 1], atol=0.1)
    (again,) = checks.with_share(CheckResult([finding], True), given, ONSETS).findings
    assert again.sentence == finding.sentence
    assert checks.with_share(weak, {}, ONSETS) is weak
    other = CheckResult([Finding("thrusters.signs", "")], True)
    assert checks.with_share(other, given, ONSETS) is other


def test_a_thruster_reversed_under_way_is_not_called_weak():
    """It is named with the signs to set, although part of the rows are from before it turned."""
    signs = (1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0)
    thrust, dvl = weakened(3, -1.0)
    (finding,) = checks_of(signs).with_share(CheckResult([WEAK], True),
                                             {"thrust": thrust, "dvl": dvl}, ONSETS).findings
    assert finding.setting == "thrusters.signs"
    assert "thruster 4 pushes backwards" in finding.sentence
    assert finding.values["thrusters.signs"] == (1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, 1.0)
    np.testing.assert_array_equal(np.diag(finding.mend.matrix), [1, 1, 1, -1, 1, 1, 1, 1])
    dead, = checks_of(signs).with_share(CheckResult([WEAK], True), dict(
        zip(("thrust", "dvl"), weakened(3, 0.0))), ONSETS).findings
    assert LITTLE in dead.sentence
