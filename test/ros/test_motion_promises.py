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

"""Updating the promise of a motion from an estimator's parameters in a separate process, without
flying."""
import importlib.util

import numpy as np
import pytest

if importlib.util.find_spec("rclpy") is None:
    pytest.skip("rclpy is not installed", allow_module_level=True)

from ros_bus import bus  # noqa: I001, E402  (first: it sets the domain)
from flying import CONFIG, ROBOT, FakeEstimator  # noqa: E402

from uvms_adaptive_dynamics.control.excitation.trajectory import (  # noqa: E402
    Promise,
    Trajectory,
)
from uvms_adaptive_dynamics.control.excitation.trajectory_file import load_trajectory  # noqa: E402
from uvms_adaptive_dynamics.ros.motion_designer import MotionDesigner  # noqa: E402
from uvms_adaptive_dynamics.ros.motion_promises import MotionPromises  # noqa: E402

FREE = ROBOT.table.match(["axis_b.*"])


def motion(stddev, duration=12.0):
    """A motion of the last joint only."""
    sine = np.zeros((10, 1))
    sine[9] = 0.3
    return Trajectory(
        ROBOT.joints, duration, 1.0, np.concatenate([np.zeros(6), [3.0, 1.7, 1.7, 2.8]]),
        np.full((10, 1), 0.4), sine, np.zeros((10, 1)),
        Promise(ROBOT.table.names, ROBOT.table.units, FREE, stddev, 0.9 * stddev))


def test_a_promise_is_stated_anew_and_held_to(tmp_path):
    """It is updated once, not before half of the motion, and compared with the estimate at the end.
    A motion that ends earlier is reported."""
    with bus() as ros:
        estimator, said = FakeEstimator(ros.operator), []
        promises = MotionPromises(ros.operator, "uvms_estimator",
                                  MotionDesigner(CONFIG, None, tmp_path), said.append)
        flown, stddev = motion(estimator.stddev), estimator.stddev
        ros.until(promises._estimate.service_is_ready)
        promises.check(flown, -1.0, stddev)
        promises.check(flown, 5.9, stddev)
        assert promises._asked is None
        promises.check(flown, 6.0, stddev)

        def look():
            promises.check(flown, 8.0, stddev)   # the design process needs time
            return promises.sentence
        try:
            ros.until(look, what="the promise")
            assert said == [promises.sentence]
            assert "after 6 of 12 s this motion promises: " in said[0]
            assert f"of {FREE.sum()} parameters shrink by a fifth or more" in said[0]
            restated = load_trajectory(tmp_path / "trajectory.yaml").promise
            np.testing.assert_allclose(restated.present, stddev)
            assert restated.improved.any() and not restated.improved[~FREE].any()
            promises.check(None, 12.0, 1.1 * restated.promised)
            assert len(said) == 2 and "times the promised ones (median), 100% of them" in said[1]
            assert " 1.10 times" in said[1]
            promises.check(flown, 7.0, stddev)
            promises.check(None, 12.0, stddev)
            assert said[2:] == ["the motion ended before its promise could be updated"]
        finally:
            promises.drop()


@pytest.mark.parametrize("why", ["refused", "garbage"])
def test_a_promise_that_cannot_be_stated_is_said(tmp_path, why):
    """With a message; the motion continues."""
    with bus() as ros:
        estimator, said = FakeEstimator(ros.operator), []
        estimator.handed = (False, "busy") if why == "refused" else (True, "schema: 1")
        promises = MotionPromises(ros.operator, "uvms_estimator",
                                  MotionDesigner(CONFIG, None, tmp_path), said.append)
        flown = motion(estimator.stddev)
        ros.until(promises._estimate.service_is_ready)
        try:
            ros.until(lambda: promises.check(flown, 6.0, estimator.stddev) or said)
            assert said[0].startswith("the promise could not be updated: ")
            assert ("busy" if why == "refused" else "holds no mapping 'parameters'") in said[0]
        finally:
            promises.drop()
