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

"""Estimated masses against the weighed one."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.parameter_set import CAUSES
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.uncertainty.mass_check import mass_findings


@pytest.fixture(scope="module")
def table():
    return RobotModel.from_config(Config()).table


def weighed(dry_mass, coupling="joint"):
    return Config().with_values({"robot.dry_mass": dry_mass, "estimation.coupling": coupling})


def estimate(table, surge, stddev):
    """Masses of 20 kg on all axes except surge, links of .25 kg, each with deviation `stddev`."""
    pi = np.zeros(table.size)
    pi[:3] = surge, 20.0, 20.0
    for joint in table.joints:
        pi[table.names.index(f"{joint}.m")] = 0.25
    return pi, OfRows(stddev ** 2 * np.eye(table.size))


class OfRows:
    """A covariance that counts its calls and has no full matrix."""

    def __init__(self, covariance):
        self.asked, self._covariance = 0, covariance

    def of_rows(self, Y):
        self.asked += 1
        return Y @ self._covariance @ Y.T


def test_a_mass_below_the_weighed_one_is_found_with_its_evidence(table):
    """9 + 4 x .25 kg against a weighed mass of 12 kg; the sentence has the axis and both masses."""
    found = mass_findings(table, *estimate(table, 9.0, 0.1), weighed(12.0))
    (setting, sentence), = found
    assert setting == "robot.dry_mass" and sentence.startswith("surge") and "10 +-" in sentence
    assert "robot.dry_mass (12 kg)" in sentence


@pytest.mark.parametrize(("surge", "stddev", "dry_mass"), [
    (9.0, 1.0, 12.0), (9.0, 0.1, 0.0), (11.5, 0.1, 12.0)])
def test_no_finding_without_evidence(table, surge, stddev, dry_mass):
    """No finding for an uncertain estimate, without a weighed mass, or if the links make up the
    difference; the full covariance is never used."""
    pi, covariance = estimate(table, surge, stddev)
    assert mass_findings(table, pi, covariance, weighed(dry_mass)) == [] and covariance.asked


def test_what_no_residual_shows_counts(table):
    """A vehicle that hardly moves has little scatter in its mass, but noise of the motion may be
    what makes it small: no finding within 3.1 deviations of both."""
    pi, covariance = estimate(table, 9.0, 0.1)
    for shift, found in ((0.1, 1), (1.0, 0)):
        systematic = np.zeros((CAUSES, table.size))
        systematic[-1, 0] = shift
        assert len(mass_findings(table, pi, covariance, weighed(12.0),
                                 systematic=systematic)) == found


def test_an_axis_whose_efforts_are_not_explained_tells_no_mass(table):
    """Arm and tether move a vehicle in sway that is driven only in heave: the estimate was 1.6 kg.
    """
    pi, covariance = estimate(table, 0.005, 0.05)
    config = Config()
    assert mass_findings(table, pi, covariance, config, (False, True, True)) == []
    assert mass_findings(table, pi, covariance, config, (True, False, False))


def test_a_robot_that_was_not_weighed_is_no_lighter_than_the_settings_allow(table):
    """For a real vehicle that no thruster moved the estimate was 5 g, flagged as measured."""
    config = Config().with_values({"estimation.weight_min": 90.0, "estimation.weight_max": 180.0})
    found = mass_findings(table, *estimate(table, 0.005, 0.05), config)
    (_, sentence), = found
    assert "estimation.weight_min allows (9.18 kg)" in sentence
    assert "or the vehicle lighter than that setting says" in sentence
    (_, sentence), = mass_findings(table, *estimate(table, 0.005, 0.05), Config())
    assert "is assumed without robot.dry_mass (9.18 kg)" in sentence
    assert "lighter: set robot.dry_mass" in sentence


def test_a_vehicle_far_heavier_than_the_settings_allow_is_told_which_to_set(table):
    """A work-class vehicle with the weight limits of a BlueROV2: added mass alone is never so
    large. No finding for five times (a plate's added mass) or for an uncertain estimate."""
    config = Config().with_values({"estimation.weight_max": 180.0})     # 18.4 kg
    found = mass_findings(table, *estimate(table, 500.0, 10.0), config)
    (setting, sentence), = found
    assert setting == "estimation.weight_max" and "as 501 +- 22 kg in surge, more" in sentence
    assert "set estimation.weight_min and weight_max" in sentence
    (_, sentence), = mass_findings(table, *estimate(table, 500.0, 10.0), Config())
    assert "weigh at most without robot.dry_mass (18.4 kg): set robot.dry_mass" in sentence
    (_, sentence), = mass_findings(table, *estimate(table, 500.0, 10.0), weighed(12.0))
    assert "than 6 times what robot.dry_mass allows the vehicle (16.8 kg): correct" in sentence
    assert mass_findings(table, *estimate(table, 5 * 18.0, 1.0), config) == []
    assert mass_findings(table, *estimate(table, 500.0, 150.0), config) == []
    found = mass_findings(table, *estimate(table, 500.0, 10.0), weighed(300.0))
    assert "estimation.weight_max" not in dict(found)


def test_thrust_that_would_lift_the_vehicle_in_air_tells_a_wrong_weight(table):
    """2000 kg under the default weights: its mass was never learnt, since the misfit of a prior of
    12 kg counted as noise, and nothing was said but "move it more"."""
    pi, covariance = estimate(table, 15.0, 5.0)
    (setting, sentence), = mass_findings(table, pi, covariance, Config(), (False,) * 3,
                                         (600.0, 170.0, 0.0))
    assert setting == "estimation.weight_max" and "is 600 N in surge, more than" in sentence
    assert "(180 N)" in sentence and "sway" not in sentence and "set robot.dry_mass" in sentence
    assert mass_findings(table, pi, covariance, Config(), (False,) * 3, (170.0,) * 3) == []
    assert mass_findings(table, pi, covariance, weighed(2000.0), (False,) * 3, (600.0,) * 3) == []


def test_without_coupling_links_are_not_counted_twice(table):
    """The vehicle's mass then includes the arm's."""
    assert mass_findings(table, *estimate(table, 11.5, 0.1), weighed(12.0, "none"))
