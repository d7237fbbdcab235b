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

"""A vehicle that may touch the bottom, by the DVL's altitude."""

import math
from types import SimpleNamespace as Message

import pytest
from analytic import START
from signal_runs import make, run

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.decode.decoder import Decoder
from uvms_adaptive_dynamics.signals.filters.altitude import NEAR_FLOOR, Altitude
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd

NEAR = {"dvl.type": "dvl_msgs/msg/DVL", "dvl.minimum_altitude": 0.3}
DOWN = START + 6.0, START + 9.0     # when the vehicle sits on the bottom


def landed(unknown=None):
    """Changes messages to those of a vehicle that sits on the bottom for three seconds; unknown:
    the altitude of all messages instead."""
    def change(role, message, t):
        if role == "dvl":
            altitude = 0.1 if DOWN[0] < t < DOWN[1] else 2.0
            message = Message(header=message.header, velocity=message.twist.twist.linear,
                              velocity_valid=True, fom=0.005,
                              altitude=altitude if unknown is None else unknown)
        return role, message, t
    return change


def test_rows_of_a_vehicle_on_the_bottom_do_not_count(clean):
    """The vehicle's for as long as it sits there; the arm's count on, and the reason is told."""
    config, robot, _ = make(**NEAR)
    front, samples = run(config, robot, clean[3], landed())
    sits = [s for s in samples if DOWN[0] + 0.2 < s.t < DOWN[1] - 0.2]
    assert sits and not any(s.valid[:6].any() for s in sits) and sits[0].valid[6:].any()
    assert all(s.valid[:6].all() for s in samples[100:-50]
               if not DOWN[0] - 0.2 < s.t < DOWN[1] + 0.2)
    assert 2.8 < front.masked["heave"][NEAR_FLOOR] * config.filter.period < 3.2


def test_it_is_off_by_default_and_may_change_while_running(clean):
    """As the limits of the depth."""
    config, robot, _ = make(**{"dvl.type": NEAR["dvl.type"]})
    assert NEAR_FLOOR not in run(config, robot, clean[3], landed())[0].masked["heave"]
    front = SignalFrontEnd(config, robot)
    for message in (landed()(*item) for item in clean[3]):
        if front.config is config and message[2] > START + 7.5:
            front.change_settings(config.with_values(NEAR))
        front.add_message(*message)
        front.samples()
    assert 1.3 < front.masked["heave"][NEAR_FLOOR] * config.filter.period < 2.2


@pytest.mark.parametrize("unknown", [0.0, -1.0, math.nan])
def test_an_invalid_altitude_is_not_near_and_the_operator_is_told(clean, unknown):
    """What drivers publish without a range, or never fill in."""
    config, robot, _ = make(**NEAR)
    front, samples = run(config, robot, clean[3], landed(unknown))
    assert all(s.valid[:6].all() for s in samples[100:-50])
    told, = [warning for warning in front.warnings if "altitude" in warning]
    assert told.startswith("dvl: no velocity has come with a valid altitude")


def test_the_newest_altitude_counts_even_if_it_is_unknown():
    """One from before does not hold on."""
    altitude = Altitude(Config().with_values(NEAR))
    for t, value in ((1.0, 2.0), (2.0, 0.1), (3.0, math.nan), (2.5, 0.1)):
        altitude.add(t, value)
    assert [altitude.mask_reason(t) for t in (0.5, 1.5, 2.0, 2.9, 3.0)] == [
        "", "", NEAR_FLOOR, NEAR_FLOOR, ""]
    assert not altitude.sentences()
    altitude.reset()
    assert altitude.mask_reason(2.0) == ""


@pytest.mark.parametrize("published, altitude", [
    (0.05, 0.05), (0.0, math.nan), (-1.0, math.nan), (math.nan, math.nan)])
def test_an_altitude_is_positive(published, altitude):
    decode = Decoder(Config()).decode
    assert decode("altitude", Message(altitude=published)) == pytest.approx([altitude], nan_ok=True)
    assert decode("altitude", Message()) == pytest.approx([math.nan], nan_ok=True)
