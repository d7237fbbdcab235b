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

"""Recordings that overlap: what two of them hold alike is used once."""
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.evaluation.bags import check_bag
from uvms_adaptive_dynamics.evaluation.overlaps import used_once
from uvms_adaptive_dynamics.evaluation.recording import Piece
from uvms_adaptive_dynamics.evaluation.run import run
from uvms_adaptive_dynamics.signals.topics import inputs
from uvms_adaptive_dynamics.simulation.bag import write_bag

CONFIG = Config().with_values({"estimation.solver": "native"})
INPUTS = inputs(CONFIG)
END = 8.1                   # [s] the last message's reception


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    """Two dives of a simulated robot that begin at the same time."""
    folder = tmp_path_factory.mktemp("overlaps")
    for seed in (1, 2):
        write_bag(folder / f"dive{seed}", seed=seed, duration=8.0, start_time=1000.0)
    return folder / "dive1", folder / "dive2"


def used(*pieces):
    """Bounds of what is used of each [s from the first one's start], and what is said."""
    contents = [check_bag(piece, INPUTS) for piece in pieces]
    parts, said = used_once(contents, INPUTS)
    start = contents[0].start - contents[0].piece.begin
    return [(abs(round(one.start - start, 1)), round(one.end - start, 1)) for one in parts], said


def test_each_message_of_overlapping_recordings_is_used_once(bags):
    """Whichever comes first, and if one lies within the other or is a copy of it."""
    one, _ = bags
    spans, said = used(Piece(one, 0.0, 5.0), Piece(one, 3.0, 7.0))
    assert spans == [(0.0, 5.0), (5.0, 7.0)] and "repeats 2.0 s of 'dive1" in said[0]
    assert used(Piece(one, 3.0, 7.0), Piece(one, 0.0, 5.0))[0] == [(3.0, 7.0), (0.0, 3.0)]
    assert used(Piece(one, 3.0, 5.0), one)[0] == [(3.0, 5.0), (0.0, 3.0), (5.0, END)]
    assert used(one, one)[0] == [(0.0, END)]


def test_recordings_that_follow_each_other_or_are_of_other_dives_are_used_whole(bags):
    """Simulated clocks, or clocks that were not set, begin at the same time."""
    one, other = bags
    spans, said = used(one, other)
    assert spans == [(0.0, END), (0.0, 8.0)] and not said
    assert used(Piece(one, 0.0, 5.0), Piece(one, 5.0)) == ([(0.0, 5.0), (5.0, END)], [])


def test_a_run_says_what_is_used_once(bags):
    """And has the rows of one recording."""
    once, twice = run([bags[0]], CONFIG), run([bags[0]] * 2, CONFIG)
    assert len(once.log.rows().t) == len(twice.log.rows().t)
    assert any("used once" in note for note in twice.notes)
    assert any("used once" in fact for fact in twice.facts)
    assert not any("used once" in fact for fact in once.facts)
