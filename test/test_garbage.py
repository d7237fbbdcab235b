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

"""Collections of the oldest generation stay away between begin and end, and come back after."""
import gc
import time

import pytest

from uvms_adaptive_dynamics.garbage import ShortCollections


@pytest.fixture
def short():
    made = ShortCollections()
    yield made
    made.end()


def generations_of(work):
    """Which generations are collected while `work()` runs."""
    found = []

    def heard(phase, info):
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(heard)
    try:
        work()
    finally:
        gc.callbacks.remove(heard)
    return found


def litter():
    """Cyclic garbage, and objects that live long enough to reach the oldest generation."""
    kept = []
    for k in range(300_000):
        cycle = [k]
        cycle.append(cycle)
        if k % 10 == 0:
            kept.append(cycle)


def test_the_oldest_generation_is_left_alone(short):
    """Young ones are still collected, so that nothing piles up."""
    short.begin()
    found = generations_of(litter)
    assert found and 2 not in found


def test_a_full_collection_is_short_when_what_exists_is_frozen(short):
    """By a factor, not by a time: it no longer visits the modules' objects."""
    def duration():
        begin = time.perf_counter()
        gc.collect()
        return time.perf_counter() - begin

    before = min(duration() for _ in range(3))
    short.begin()
    assert min(duration() for _ in range(3)) < before / 5


def test_a_context_ends_where_something_is_raised(short):
    """A replay that fails leaves the process as it was."""
    before = gc.get_threshold()
    with pytest.raises(ValueError), short:
        assert gc.get_threshold() != before
        raise ValueError
    assert gc.get_freeze_count() == 0 and gc.get_threshold() == before


def test_end_restores_what_was(short):
    """Thresholds as before, nothing frozen; begin and end may come twice."""
    before = gc.get_threshold()
    short.begin()
    short.begin()
    assert gc.get_freeze_count() > 0 and gc.get_threshold() != before
    short.end()
    short.end()
    assert gc.get_freeze_count() == 0 and gc.get_threshold() == before
