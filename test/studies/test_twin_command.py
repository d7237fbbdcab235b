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

"""The command `twin`: its coverage count, and a short run."""
import json

import numpy as np
import pytest

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.simulated_runs import simulated
from uvms_adaptive_dynamics.studies.twin.judge import (
    Forecasts,
    figures,
    pooled,
    quantities,
    thirds,
)

ROBOT = RobotModel.from_config(Config())
ORDER = (("position", 0), ("attitude", 3), ("velocity", 6), ("rates", 9), ("joints", 12),
         ("joint speeds", 16))


def judged(error, stddev):
    return Forecasts(np.arange(len(error)), error, stddev)


def test_coverage_is_that_of_the_deviations_that_are_drawn():
    """Errors of half the deviation are covered too often, errors of twice the deviation too rarely.
    """
    rng = np.random.default_rng(0)
    stddev = np.full((400, 51, 20), 0.5)
    for factor, low, high in ((0.5, 0.99, 1.0), (1.0, 0.93, 0.97), (2.0, 0.62, 0.73)):
        found = figures(judged(0.5 * factor * rng.standard_normal(stddev.shape), stddev), ROBOT,
                        "efforts")
        assert list(found) == ["1", "2", "5"]
        for name, _ in ORDER:
            assert low <= found["5"][name]["coverage"] <= high
            assert found["5"][name]["rms_in_deviations"] == pytest.approx(factor, rel=0.1)


def test_each_quantity_is_judged_by_its_own_part_of_the_error():
    error = np.zeros((3, 11, 20))
    error[:, 10, 3:6] = [3.0, 0.0, 4.0]
    found = figures(judged(error, np.full(error.shape, 0.1)), ROBOT, "efforts")["1"]
    assert found["attitude"]["median_error"] == pytest.approx(5)
    assert found["attitude"]["coverage"] == pytest.approx(1 / 3)
    assert found["position"]["coverage"] == 1 and found["position"]["median_error"] == 0
    assert set(quantities(ROBOT, "positions")) == {name for name, _ in ORDER[:4]}


def test_a_model_without_a_forecast_covers_nothing_and_is_infinitely_far_off():
    error = np.zeros((4, 11, 20))
    error[:3] = np.nan
    found = figures(judged(error, np.full(error.shape, 0.1)), ROBOT, "efforts")["1"]["position"]
    assert found["coverage"] == 0.25 and found["median_error"] == np.inf
    assert found["rms_in_deviations"] == np.inf


def test_the_standard_error_of_a_coverage_is_the_scatter_of_recordings():
    """Recordings of which one is covered and one is not: half is covered, and nobody knows how
    much. The thirds of each recording are pooled in their order."""
    good, bad = (judged(np.full((4, 11, 20), error), np.ones((4, 11, 20))) for error in (0.0, 9.0))
    found = pooled([good, bad], ROBOT, "efforts")["1"]["rates"]
    assert found["coverage"] == 0.5 and found["standard_error"] == pytest.approx(0.5)
    assert pooled([good], ROBOT, "efforts")["1"]["rates"]["standard_error"] is None
    later = judged(np.repeat([0.0, 0.0, 0.0, 0.0, 9.0, 9.0], 11 * 20).reshape(6, 11, 20),
                   np.ones((6, 11, 20)))
    shares = [pooled(part, ROBOT, "efforts")["1"]["rates"]["coverage"]
              for part in thirds([good, later])]
    assert shares == [1.0, 1.0, pytest.approx(1 / 3)]


@pytest.mark.campaign
def test_a_short_run_beside_a_wrong_model(tmp_path, capsys):
    """After 14 of 20 s of learning, the estimate forecasts better than its prior and than constant
    velocities, judged by truth and by measurements."""
    common = ["--learn", "14", "--horizon", "1", "--every", "1", "--output"]
    assert main(["twin", "--simulate", "5", "--duration", "20", *common, str(tmp_path / "a")]) == 0
    assert "median error" in capsys.readouterr().out
    bag = simulated(tmp_path / "a" / "bags", 5, 20.0)
    assert main(["twin", str(bag), "--arm", "positions", *common, str(tmp_path / "b")]) == 0
    for name, joints in (("a", True), ("b", False)):
        found = json.loads((tmp_path / name / "twin.json").read_text())
        assert len(found["thirds"]) == 3
        at = {model: by["1"] for model, by in found["pooled"].items()}
        own = at.pop("estimate")
        assert ("joints" in own) == joints and own["position"]["n"] >= 9
        assert all(own["position"]["median_error"] < 0.5 * other["position"]["median_error"]
                   for other in at.values())
        assert (tmp_path / name / "twin.png").stat().st_size > 20_000


@pytest.mark.parametrize("arguments, said", [
    ([], "expected a BAG or --simulate"),
    (["--simulate", "1", "--horizon", "0.1"], "at least 0.5"),
    (["/nowhere", "--simulate", "1"], "does not exist")])
def test_arguments_that_do_not_fit_are_refused(arguments, said, tmp_path, capsys):
    assert main(["twin", *arguments, "--output", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
