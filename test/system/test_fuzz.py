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

"""A few cases of each fuzzer (`python test/fuzz.py` runs any number), and tests of the fuzzers
themselves."""
import time

import pytest
from campaign_cases import also
from fuzz import fuzz
from fuzz_cases import Tally, randomness, spoilt
from fuzz_messages import MessageFuzzer, leaves

from uvms_adaptive_dynamics.errors import ConfigError


@pytest.fixture(scope="module")
def messages():
    return MessageFuzzer(motions=1)


MESSAGES = {"messages received", "messages used", "messages refused", "samples"}


@pytest.mark.parametrize("kind, cases, outcomes", [
    ("files", 250, {f"{kind}: {end}" for end in ("used", "refused") for kind in (
        "configuration", "settings", "parameter file", "URDF", "thrust curve", "export", "mapping",
        "log")} | {f"{kind}: refused" for kind in ("schedule", "trajectory", "plan", "batch")}),
    ("bags", 24, {f"{kind}: {end}" for end in ("used", "refused") for kind in (
        "mcap", "sqlite3")}),
    ("messages", 500, MESSAGES), also("messages", 2500, MESSAGES)])
def test_what_is_spoilt_is_used_or_refused_in_a_sentence(kind, cases, outcomes):
    """Each case is used or refused, quickly; every kind has both outcomes, except for the strictest
    formats, of which few cases remain valid."""
    tally = fuzz(kind, 0, cases)
    assert not tally.failures, str(tally)
    assert set(tally.outcomes) >= outcomes


def test_cases_are_the_same_whichever_ran_before(messages):
    """A case number reproduces its finding."""
    assert [str(item) for item in messages.stream(7)] == [str(item) for item in messages.stream(7)]
    first, second = (spoilt(randomness(0, k), "a" * 100, ("b",)) for k in (1, 2))
    assert first == spoilt(randomness(0, 1), "a" * 100, ("b",)) != second


def test_a_tally_tells_failures_from_refusals():
    """Other exceptions, long messages and hangs are failures."""
    tally = Tally()

    def refuse(sentence):
        raise ConfigError(sentence)

    def wait():
        end = time.process_time() + 5.0
        while time.process_time() < end:
            pass
    for number, case in enumerate((lambda: 1, lambda: refuse("No."), lambda: refuse("x" * 2000),
                                   lambda: refuse("a\nb"), lambda: 1 / 0, wait)):
        tally.run("t", number, case)
    assert tally.outcomes == {"t: used": 1, "t: refused": 3} and tally.failures.total() == 4
    assert "ZeroDivisionError in system/test_fuzz.py" in str(tally) and "hang in" in str(tally)
    assert 0.5 < tally.longest < 4.0     # the kernel counts processor time in ticks


def test_streams_reach_deep_and_everywhere(messages):
    """Most messages are valid, so that filters run; every field is eventually corrupted."""
    whole = {id(message) for stream in messages.streams for _, message, _ in stream}
    shares, fields = [], set()
    for number in range(24):
        stream = messages.stream(number)
        strange = [message for _, message, _ in stream if id(message) not in whole]
        shares.append(len(strange) / len(stream))
        fields |= {name for message in strange for _, name in leaves(message)}
    assert sorted(shares)[len(shares) // 2] < 0.2 < max(shares)
    assert {"x", "w", "sec", "covariance", "fluid_pressure", "data", "effort", "voltage"} <= fields
