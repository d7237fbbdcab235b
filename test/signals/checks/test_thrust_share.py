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
from test_thruster_check import ALLOCATION, logs

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.checks.finding import CheckResult, Finding
from uvms_adaptive_dynamics.signals.checks.suite import SensorChecks
from uvms_adaptive_dynamics.signals.checks.thrust_share import share_since
from uvms_adaptive_dynamics.signals.checks.weak_thruster import of_thrust

FIRST, ONSETS = 30.0, (20.0, 25.0, 30.0, 35.0)


def weakened(thruster, share, seed=0):
    """(thrust, dvl) of a vehicle whose thruster gives only a share of its thrust from FIRST [s]."""
    return logs(np.ones(8), seed=seed, seconds=60.0,
                later=(FIRST, np.where(np.arange(8) == thruster, share, 1.0)))


@pytest.mark.parametrize("thruster", [0, 3, 5])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_the_share_is_that_of_the_thrust(thruster, share):
    """Whatever the motion leaves unexplained of the other thrusters' commands."""
    found = share_since(*weakened(thruster, share), ALLOCATION, thruster, ONSETS)
    assert found == pytest.approx(share, abs=0.1)


def test_without_motion_or_an_onset_nothing_is_told():
    thrust, dvl = weakened(3, 0.3)
    assert share_since(thrust, dvl, ALLOCATION, 3, ()) is None
    assert share_since(thrust, dvl[:20], ALLOCATION, 3, ONSETS) is None


def test_the_finding_takes_the_share_from_the_logs():
    """It says "little or none", and puts right as much as is lost; other findings stay."""
    config = Config().with_values({"thrusters.allocation": ALLOCATION.ravel().tolist()})
    checks = SensorChecks(config, RobotModel.from_config(config), tuple)
    thrust, dvl = weakened(3, 0.5)
    given = {"thrust": thrust, "dvl": dvl}
    weak = CheckResult([Finding("thrusters.efficiency", "", mend=of_thrust(3, 0.0, 8))], True)
    (finding,) = checks.with_share(weak, given, ONSETS).findings
    assert finding.mend.of_thrust
    np.testing.assert_allclose(np.diag(finding.mend.matrix), [1, 1, 1, 0.5, 1, 1, 1, 1], atol=0.1)
    assert checks.with_share(weak, {}, ONSETS) is weak
    other = CheckResult([Finding("thrusters.signs", "")], True)
    assert checks.with_share(other, given, ONSETS) is other
