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

"""The saved state: starts, replacements, and backups."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation import saved_state
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.estimation.learned import (
    known_directions,
    known_rows,
    measuring_settings,
)
from uvms_adaptive_dynamics.estimation.saved_state import BACKUPS_KEPT, SavedState, set_aside
from uvms_adaptive_dynamics.model.parameter_file import load_parameters, save_parameters

CONFIG = Config()


@pytest.fixture(scope="module")
def prior():
    return Estimator(CONFIG, learn=False)


@pytest.fixture
def state(tmp_path, prior):
    """Makes the `SavedState` of a process that starts with the folder's content."""
    def make(config=CONFIG):
        return SavedState(tmp_path / "robot", prior.table, measuring_settings(config))
    (tmp_path / "robot").mkdir()
    return make


def learned(prior, rows, directions=20, W=110.0, wrong=()):
    found = prior.parameter_set(described=False)
    values = found.values.copy()
    values[found.names.index("W")] = W
    return replace(found, values=values, learned={
        "rows": rows, "directions": directions, "settings": measuring_settings(CONFIG),
        "wrong": list(wrong)})


def test_a_first_start_says_that_there_is_nothing(state):
    """The built-in prior, and the folder searched."""
    start = state().start()
    assert start.parameters is None and "no saved state in" in start.sentence


def test_the_state_goes_on(state, prior):
    """With values, rows and date, and without a backup, since nothing was lost."""
    state().save(learned(prior, 100))
    again = state()
    start = again.start()
    assert known_rows(start.parameters) == 100 and "with 100 rows" in start.sentence
    again.save(learned(prior, 200))
    assert again.backups() == [] and known_rows(state().start().parameters) == 200


@pytest.mark.parametrize("poorer", [dict(rows=50), dict(rows=300, directions=10)])
def test_what_is_poorer_leaves_a_backup(state, prior, poorer):
    """Fewer rows, or fewer directions known."""
    one = state()
    one.save(learned(prior, 100))
    one.save(learned(prior, **poorer))
    backup, = one.backups()
    assert known_rows(one.load(backup.name)) == 100


def test_a_state_without_its_end_is_damaged(state, prior):
    """Cut off between two entries it is valid YAML, with rows but no covariance: a start from it
    would claim rows that it does not know."""
    one = state()
    one.save(learned(prior, 100))
    text = one.path.read_text()
    one.path.write_text(text[:text.index("covariance_lower_triangle")])
    again = state()
    start = again.start()
    assert start.parameters is None and start.refused and "lost its end" in start.sentence
    again.save(learned(prior, 20))
    assert (again.folder / "state.damaged").is_file() and again.backups() == []


def test_directions_at_the_edge_leave_one_backup(state, prior):
    """20, 19, 20, 19, ... directions: the backup of the first 20 is enough."""
    one = state()
    for k in range(10):
        one.save(learned(prior, 100 + k, directions=20 - k % 2))
    assert len(one.backups()) == 1


def test_what_its_data_contradict_replaces_nothing_for_good(state, prior):
    """However rich it is; the next start uses a state that was not contradicted, and says why."""
    one = state()
    one.save(learned(prior, 100))
    for rows in (200, 300):
        one.save(learned(prior, rows, directions=60, wrong=["X", "N"]))
    backup, = one.backups()
    again = state()
    start = again.start()
    assert known_rows(start.parameters) == 100 and start.refused
    assert "was contradicted by its data" in start.sentence and "on X, N" in start.sentence
    again.save(learned(prior, 110))
    kept = [known_rows(one.load(path.name)) for path in again.backups()]
    assert kept == [100, 300]
    assert known_rows(state().start().parameters) == 110


def test_a_state_saved_in_1970_is_no_older_than_those_before(state, prior, monkeypatch):
    """A computer without a clock battery: what is known before ~/reset is kept, and counts as the
    newest backup."""
    def saved_at(stamp):
        monkeypatch.setattr(saved_state, "_now", lambda: stamp)
    for day in range(7):
        saved_at(f"2026-06-0{day + 1}T10:00:00.000000Z")
        one = state()
        one.save(learned(prior, 100 + day, directions=20))
    for minute, rows in enumerate((900, 800, 700)):
        saved_at(f"1970-01-01T00:0{minute}:00.000000Z")
        one.save(learned(prior, rows, directions=19))
        one.begin_again()
    kept = [known_rows(one.load(path.name)) for path in one.backups()]
    assert kept[-2:] == [900, 800] and len(kept) == 5
    one.path.unlink()
    assert known_rows(state().start().parameters) == 800


def test_a_file_that_knew_more_is_kept_beside_an_earlier_one(tmp_path, prior):
    """Under a free name, even if the one kept before knew more still."""
    path = tmp_path / "pool.yaml"
    for rows in (1000, 10, 500, 5):
        save_parameters(path, learned(prior, rows))
        richer = set_aside(path, learned(prior, 1))
        assert known_rows(load_parameters(richer)) == rows
    assert set_aside(path, learned(prior, 1)) == richer == tmp_path / "pool.before4.yaml"
    assert set_aside(path, learned(prior, 6)) is None
    path.write_text("garbage")
    assert set_aside(path, learned(prior, 1)) is None


def test_a_contradicted_state_is_better_than_none(state, prior):
    """The newest contradicted state is used, with a warning."""
    one = state()
    one.save(learned(prior, 100, wrong=["X"]))
    one.save(learned(prior, 90, wrong=["X"]))
    start = state().start()
    assert known_rows(start.parameters) == 90 and start.refused
    assert "rows, although its data contradicted it on X: there is no other (" in start.sentence
    assert "instead" not in start.sentence
    for path in state().backups():
        path.unlink()
    assert state().start().sentence.endswith("contradicted it on X: there is no other")


def test_another_line_leaves_a_backup_however_rich(state, prior):
    """After a reset or a load, and in a run that did not start from the state."""
    one = state()
    one.save(learned(prior, 100))
    one.begin_again()
    one.save(learned(prior, 1000, directions=60))
    assert len(one.backups()) == 1
    another = state()
    another.save(learned(prior, 2000, directions=60))
    assert len(another.backups()) == 2


def test_backups_are_few_and_the_richest_stays(state, prior):
    """However many unrelated states follow."""
    one = state()
    one.save(learned(prior, 100, directions=60, W=1.0))
    for k in range(2 * BACKUPS_KEPT):
        one.begin_again()
        one.save(learned(prior, k + 1))
    kept = [known_rows(one.load(path.name)) for path in one.backups()]
    assert len(kept) == BACKUPS_KEPT and kept == [100, 6, 7, 8, 9]


def test_a_damaged_state_gives_way_to_the_newest_good_backup(state, prior):
    """The sentence says what was wrong; the rest of the file is kept."""
    one = state()
    for rows in (100, 200, 300):
        one.begin_again()
        one.save(learned(prior, rows))
    one.path.write_bytes(one.path.read_bytes()[:2000])
    again = state()
    start = again.start()
    assert known_rows(start.parameters) == 200
    assert "instead, since" in start.sentence and "not valid YAML" in start.sentence
    again.save(learned(prior, 210))
    assert (again.folder / "state.damaged").stat().st_size == 2000
    assert known_rows(state().start().parameters) == 210


def test_other_settings_are_another_state(state, prior):
    """Settings that convert measurements to efforts: the sentence names the setting, and how to use
    the state anyway."""
    state().save(learned(prior, 100))
    other = state(CONFIG.with_values({"joint_states.effort_scale": (2.0, 2.0, 2.0, 2.0)}))
    start = other.start()
    assert start.parameters is None
    assert "joint_states.effort_scale" in start.sentence and "~/load_from" in start.sentence
    assert state(CONFIG.with_values({"estimation.horizon": 50})).start().parameters is not None


@pytest.mark.parametrize("name, value", [
    ("estimation.coupling", "none"), ("estimation.base_motion", "tilt"),
    ("joint_states.names", ("b", "a", "c", "d")), ("joint_states.unit", "deg"),
    ("thrusters.channels", (2, 1, 3, 4, 5, 6, 7, 8)), ("thrusters.time_constant", 0.0),
    ("thrusters.delay", .3), ("imu.orientation", "own"), ("imu.delay", .1), ("dvl.delay", .1),
    ("joint_states.delay", .1), ("robot.link_diameters", (.05,) * 4),
    ("robot.dead_band_speed", .1)])
def test_what_changes_efforts_motion_or_meaning_must_agree(state, prior, name, value):
    """A file from before the setting was recorded counts as agreeing."""
    found, other = learned(prior, 100), CONFIG.with_values({name: value})
    state().save(found)
    start = state(other).start()
    assert start.parameters is None and f"({name})" in start.sentence
    settings = {key: was for key, was in found.learned["settings"].items() if key != name}
    state().save(replace(found, learned={**found.learned, "settings": settings}))
    assert state(other).start().parameters is not None


def test_another_place_is_the_same_robot(state, prior):
    """Current, gravity and density of the water may differ."""
    state().save(learned(prior, 100))
    sea = CONFIG.with_values({"robot.current_ned": (.3, 0.0, 0.0), "robot.gravity": 9.83,
                              "robot.water_density": 1025.0})
    assert state(sea).start().parameters is not None


def test_another_robot_s_state_is_named(state, prior, tmp_path):
    """So that a person who expected a state sees why there is none."""
    state().save(learned(prior, 100))
    other = SavedState(tmp_path / "vehicle-00000000", prior.table, {})
    assert "(but there is one of robot)" in other.start().sentence


def test_directions_are_counted_against_the_prior():
    """Directions with less than .3 of the prior's deviation left, in any orientation."""
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))
    stddev = np.array([1.0, 10.0, 0.1, 1.0, 1e3])
    left = rotation @ np.diag([0.01, 0.2, 0.29, 0.31, 1.0]) ** 2 @ rotation.T
    assert known_directions(left * np.outer(stddev, stddev), stddev) == 3
