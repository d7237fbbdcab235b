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

"""The oldest generation is not collected between begin and end, and is collected again
afterwards."""
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
    """Young objects are still collected, so that garbage does not pile up."""
    short.begin()
    found = generations_of(litter)
    assert found and 2 not in found


def test_a_full_collection_is_short_when_what_exists_is_frozen(short):
    """Compared by a factor, not by a time: the modules' objects are no longer visited."""
    def duration():
        begin = time.perf_counter()
        gc.collect()
        return time.perf_counter() - begin

    before = min(duration() for _ in range(3))
    short.begin()
    assert min(duration() for _ in range(3)) < before / 5


def test_a_context_ends_where_something_is_raised(short):
    """A replay that fails restores the process's state."""
    before = gc.get_threshold()
    with pytest.raises(ValueError), short:
        assert gc.get_threshold() != before
        raise ValueError
    assert gc.get_freeze_count() == 0 and gc.get_threshold() == before


def test_end_restores_what_was(short):
    """Thresholds are restored and nothing is frozen; begin and end may be called twice."""
    before = gc.get_threshold()
    short.begin()
    short.begin()
    assert gc.get_freeze_count() > 0 and gc.get_threshold() != before
    short.end()
    short.end()
    assert gc.get_freeze_count() == 0 and gc.get_threshold() == before
