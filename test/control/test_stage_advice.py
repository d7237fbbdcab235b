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

"""Advice for a person at the joystick."""
import pytest

from uvms_adaptive_dynamics.control.stage_advice import advice, motions_showing
from uvms_adaptive_dynamics.model.parameters import ParameterTable
from uvms_adaptive_dynamics.model.sample import VEHICLE_CHANNELS
from uvms_adaptive_dynamics.model.term_sets import TERM_SETS

WHOLE = ParameterTable(True, ("j",), (False,), (1.0,), (0.2,), tuple(TERM_SETS))


@pytest.mark.parametrize("name, channels", [
    ("X_u", ["surge"]), ("M_qq", ["pitch"]), ("Iz_N_dr", ["yaw"]), ("mzg_K_dv", ["sway"]),
    ("W", ["heave", "roll", "pitch"]), ("ygW_ybB", ["roll"]), ("offset_N", ["yaw"]),
    ("axis_d.Ixx", ["axis_d"]), ("yaw.fv", ["joint.yaw"])])
def test_a_parameter_is_shown_by_its_own_motion(name, channels):
    move = (*VEHICLE_CHANNELS, "axis_d", "joint.yaw")
    assert sorted(c for c, _ in motions_showing(name, move)) == sorted(channels)


@pytest.mark.parametrize("name", WHOLE.names)
def test_every_parameter_of_the_table_has_a_motion_of_its_own(name):
    """No parameter of the table falls back to 'move everything'."""
    found = motions_showing(name, (*VEHICLE_CHANNELS, "j"))
    assert 1 <= len(found) <= 3 and all(how != "more, differently" for _, how in found)


def test_sentences():
    assert advice("roll", ["K_pp", "Ix_K_dp", "K_p", "X_u"], ("roll", "surge")) == (
        "roll: faster, back and forth (K_pp, Ix_K_dp); slowly too (K_p)")
    assert advice("yaw", ["K_pp"], ("roll", "yaw")) == ""
    # an unknown name, or a channel that the stage does not move: all channels that it moves
    assert advice("yaw", ["drag_factor"], ("yaw",)) == "yaw: more, differently (drag_factor)"
