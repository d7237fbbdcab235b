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

"""A taut tether, a failing thruster and a dock act from their time on, and not before."""
import numpy as np
import pytest
from campaign_cases import also

from uvms_adaptive_dynamics.simulation.mishaps import Held, Mishaps, Pull, ThrusterFailure
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.rough import Roughness

BEGIN, SECONDS = 1.0, 4.0


def truth(mishaps, rough=Roughness()):
    robot = SimulatedRobot(3, SECONDS, dt=.01, rough=rough, mishaps=mishaps)
    for _ in robot:
        pass
    return robot.truth()


@pytest.fixture(scope="module")
def calm():
    return truth(Mishaps())


def test_a_thruster_gives_its_share_from_then_on(calm):
    """The missing wrench lies along the thruster's column of the allocation; commands only react
    later."""
    failed = truth(Mishaps(failures=(ThrusterFailure(4, 0.0, BEGIN),)))
    before, after = calm.t - calm.t[0] < BEGIN - .02, np.flatnonzero(calm.t - calm.t[0] > BEGIN)[2]
    np.testing.assert_array_equal(failed.wrench[before], calm.wrench[before])
    lost = failed.wrench[after] - calm.wrench[after]
    column = SimulatedRobot().robot.allocation[:, 4]
    assert np.linalg.norm(lost) > .1
    along = column * (column @ lost) / (column @ column)
    np.testing.assert_allclose(lost, along, atol=.05 * np.linalg.norm(lost))


def test_two_failures_of_one_thruster_multiply():
    """For example a rope first, then a broken propeller."""
    mishaps = Mishaps(failures=(ThrusterFailure(1, .5, 1.0), ThrusterFailure(1, .4, 2.0)))
    assert [mishaps.thrust_share(t, 3)[1] for t in (.5, 1.5, 2.5)] == [1.0, .5, .2]


@pytest.mark.parametrize("rough", [also(Roughness()), Roughness(tether_force=2.0)])
def test_a_taut_tether_accelerates_the_robot_its_way(rough):
    """12 N north accelerate a robot of some 30 kg, added mass included, whose controller resists;
    also together with a wandering tether."""
    free, pulled = (truth(Mishaps(pulls=pulls), rough)
                    for pulls in ((), (Pull((12.0, 0.0, 0.0), BEGIN),)))
    before = free.t - free.t[0] < BEGIN - .02
    np.testing.assert_array_equal(pulled.position[before], free.position[before])
    drift = (pulled.position - free.position)[-1]
    assert drift[0] > .05 and np.abs(drift[1:]).max() < .5 * drift[0]


def test_a_vehicle_that_is_held_stays_where_it_is(calm):
    """To 2 cm and a few degrees, whatever its thrust, until it is let go."""
    held = truth(Mishaps(held=(Held(BEGIN, 3.0),)))
    t = held.t - held.t[0]
    np.testing.assert_array_equal(held.position[t < BEGIN - .02], calm.position[t < BEGIN - .02])
    begin, end = np.searchsorted(t, (BEGIN + .3, 2.95))
    way = np.ptp(held.position[begin:end], axis=0)
    assert way.max() < .02 < np.ptp(calm.position[begin:end], axis=0).max()
    assert np.abs(held.wrench[begin:end]).max() > 5.0
    assert np.linalg.norm(held.position[-1] - held.position[end]) > .02
