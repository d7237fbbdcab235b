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

"""Rank and null space of rows with known answers."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.uncertainty.null_space import _echelon, _written, directions


def test_combinations_are_written_as_people_do():
    """Elimination finds sparse combinations; long ones are not written out."""
    N = np.array([[1., 1.], [1., -1.], [2., 0.]])
    assert np.count_nonzero(_echelon(N)) <= 4
    assert _written(np.array([2., -2.]), ["W", "B"]) == "W - B" and _written(
        np.array([1., 0., .5]), list("abc")) == "a + 0.5 c"
    assert _written(np.ones(9), list("abcdefghi")) == ""


def test_rank_and_null_space_are_those_of_an_svd_of_the_rows():
    """Random rows of low rank: the rank is that of an independent SVD, and null directions change
    no row."""
    config = Config()
    table = RobotModel.from_config(config).table
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 30)) @ rng.normal(size=(30, table.size)) / table.scale
    found = directions(table, np.ones(table.size, bool), rows.T @ rows)
    reduced = found.at.columns(rows)
    s = np.linalg.svd(reduced / np.linalg.norm(reduced, axis=0), compute_uv=False)
    assert found.rank == np.sum(s > 1e-6 * s[0]) == 30
    assert found.condition == pytest.approx(s[0] / s[29], rel=1e-6)
    assert np.abs(
        reduced @ found.null).max() < 1e-6 * np.abs(reduced).max() * np.abs(found.null).max()
