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

"""Messages with their time on the common clock, for users that cannot wait."""
from types import SimpleNamespace

import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import MessageError
from uvms_adaptive_dynamics.signals.decode.clocks import USUAL_LATENCY
from uvms_adaptive_dynamics.signals.decode.readings import MessageReader
from uvms_adaptive_dynamics.signals.decode.timed import TimedDecoder

LATE = 0.02     # [s] from stamp to reception


def depth(t, pressure=151325.0):
    stamp = SimpleNamespace(sec=int(t), nanosec=round((t - int(t)) * 1e9))
    return SimpleNamespace(header=SimpleNamespace(stamp=stamp, frame_id=""),
                           fluid_pressure=pressure, variance=0.0)


def decoder(jumps):
    made = TimedDecoder(Config(), ("depth",), lambda: (jumps.append(1), made.reset()))
    return made


def test_times_are_those_of_the_stamps_once_the_clock_is_known():
    """Messages before that are dropped; `now` is the receiver's time on the same clock."""
    jumps, times = [], []
    made = decoder(jumps)
    assert made.now(100.0) is None
    for k in range(20):
        t = 100.0 + 0.1 * k
        found = made.decode("depth", depth(t), t + LATE)
        times.append(None if found is None else found[0] - t)
    assert times[0] is None and times[-1] == pytest.approx(0.0, abs=1e-6)
    assert made.now(102.0) == pytest.approx(102.0, abs=0.1) and not jumps
    assert found[1][0] == pytest.approx(50000 / 9806.65, abs=1e-6)


def test_a_jump_is_told_and_garbage_is_refused():
    jumps = []
    made = decoder(jumps)
    for k in range(20):
        made.decode("depth", depth(100.0 + 0.1 * k), 100.0 + 0.1 * k + LATE)
    made.decode("depth", depth(5000.0), 5000.0)
    assert jumps == [1] and made.now(5000.0) is None
    with pytest.raises(MessageError):
        made.decode("depth", depth(5000.1, float("nan")), 5000.1)


@pytest.mark.parametrize("stamped", [True, False])
def test_both_readers_take_the_same_time_from_a_message(stamped):
    """That of `MessageReader`: the stamp, or without one the reception less the usual latency; in
    either case less the sensor's delay."""
    config = Config().with_values({"depth.delay": 0.3})
    timed, reader = TimedDecoder(config, ("depth",), lambda: None), MessageReader(config)
    for k in range(30):
        t = 100.0 + 0.1 * k
        message = depth(t if stamped else 0.0)
        now, read = timed.decode("depth", message, t + LATE), reader.read("depth", message,
                                                                          t + LATE)
    expected = t - 0.3 if stamped else t + LATE - USUAL_LATENCY["depth"] - 0.3
    assert now[0] == pytest.approx(expected, abs=1e-6)
    assert reader.origin + read[-1].t == pytest.approx(expected, abs=1e-6)
    assert read[-1].values == now[1]
