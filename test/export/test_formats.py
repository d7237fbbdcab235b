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

"""All formats: values are read back, losses are noted in the file, other texts are refused."""
import math
import re
from dataclasses import replace

import pytest
import yaml
from export_cases import CONFIG, close, estimate
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.export.formats import FORMATS, export_as, read_export
from uvms_adaptive_dynamics.export.identified import ExportError, Identified
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet

WHOLE = ("gazebo", "fossen", "holoocean")     # hold all of a vehicle, whatever its couplings
GARBAGE = ("", "x", "<a/>", "<robot/>", "<sdf/>", "<scenario/>", "{}", "[]", "null", "a: [", "\0",
           "<robot><hydrodynamics/></robot>", "<sdf><model/></sdf>", '{"vehicle": 3}',
           "<!DOCTYPE x><robot/>", "/**: {ros__parameters: {model: {mass: x}}}", "volume: .nan",
           "[" * 2000)
HUGE = "9" * 400     # a whole number beyond every float


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_held_is_read_back(name, seed):
    """Held parameters are read back from the commented file to 1e-9 of their size."""
    identified = estimate(seed)
    made = export_as(identified, name)
    found = read_export(name, made.text, CONFIG)
    table = identified.robot.table
    for key, value, size in zip(table.names, identified.values, table.scale):
        if key in made.held:
            assert abs(found[key] - value) <= 1e-9 * max(abs(value), size), key
    if "W - B" in made.held:
        W, B = identified.pick(("W", "B"))
        assert close(found["W"] - found["B"], W - B)
    assert len(made.held) >= 13


@pytest.mark.parametrize("name", WHOLE)
def test_a_vehicle_is_held_whole(name):
    """Some formats hold all 26 quantities; W and B count as one."""
    made = export_as(estimate(4), name)
    assert len(made.held) == 26 and not any(note.startswith("Lost") for note in made.notes)


@pytest.mark.parametrize("name", FORMATS)
def test_losses_stand_in_the_file(name):
    """The file contains every note and the version that made it."""
    made = export_as(estimate(1), name)
    text = " ".join(made.text.replace("\n# ", " ").replace("- -", "--").split())
    assert "by uvms_adaptive_dynamics" in text
    for note in made.notes:
        assert " ".join(note.split()) in text


def test_what_a_format_has_no_place_for_is_named_with_both_values():
    """An asymmetric hull's couplings are named in a format with diagonal added mass."""
    identified = estimate(1)
    lost = next(note for note in export_as(identified, "rdml").notes if note.startswith("Lost"))
    value = identified.pick(["mzg_X_dq"])[0]
    assert f"mzg_X_dq {value:.4g} becomes " in lost and "X_u " not in lost


def test_offsets_and_rotors_are_named_where_there_are_any():
    """Optional parameters that no format holds are named if the robot has them."""
    config = CONFIG.with_values({"robot.estimate_offsets": "all",
                                 "robot.estimate_rotor_inertia": True})
    identified = estimate(0, config, offset_X=3.0, **{"axis_b.Ir": 0.01})
    notes = " ".join(export_as(identified, "gazebo").notes)
    assert "offset_X = 3" in notes and "axis_b.Ir = 0.01" in notes and "offset_Y" not in notes


def test_what_was_not_measured_is_named():
    """Notes tell which numbers in the file are the prior's, and which are only known in part."""
    table = estimate().robot.table
    flags = {"N_rr": "prior", "K_p": "weak", "W": "weak", "axis_b.m": "weak"}
    words = tuple(flags.get(name, "measured") for name in table.names)
    identified = Identified(CONFIG, estimate().robot, ParameterSet(
        table.names, estimate().values, known_from=words))
    assert export_as(identified, "fossen").notes[-2:] == (
        "Determined by the prior, not by data: N_rr.",
        "Known in part, to be used only with the covariance, which is not in this file: K_p.")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("text", GARBAGE)
def test_other_texts_are_refused_in_a_sentence(name, text):
    with pytest.raises(UvmsError) as caught:
        read_export(name, text, CONFIG)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("name", ("hippocampus", "marinegym", "uvms-simlab"))
def test_a_whole_number_beyond_every_float_is_refused(name):
    text = export_as(estimate(1), name).text
    key = {"hippocampus": "mass", "marinegym": "volume", "uvms-simlab": '"m_x_du"'}[name]
    spoilt = re.sub(rf"(?<![\w']){key}: [\d.]+", f"{key}: {HUGE}", text, count=1)
    assert spoilt != text
    with pytest.raises(ExportError, match="expected 1 finite number"):
        read_export(name, spoilt, CONFIG)


@given(name=st.sampled_from(tuple(FORMATS)), place=st.integers(0, 4000), size=st.integers(1, 40),
       put=st.sampled_from(("", "nan", "1e999", "<", "]", "-", "x", "0x1", "{", '"', "\n")))
def test_a_spoilt_file_is_read_or_refused(name, place, size, put):
    """Whatever is cut out or inserted, reading gives finite numbers or one sentence."""
    text = _texts()[name]
    place %= len(text)
    try:
        found = read_export(name, text[:place] + put + text[place + size:], CONFIG)
    except UvmsError:
        return
    assert all(math.isfinite(value) for value in found.values())


def _texts(made={}):  # noqa: B006  one export of each for all examples
    if not made:
        made.update({name: export_as(estimate(1), name).text for name in FORMATS})
    return made


def test_a_format_that_does_not_exist_is_refused():
    with pytest.raises(ExportError, match="'collada' does not exist; expected one of urdf, rdml"):
        export_as(estimate(), "collada")


@pytest.mark.parametrize("name", ("hippocampus", "marinegym"))
def test_comments_do_not_change_what_is_said(name):
    """The commented file contains the same YAML as the draft."""
    identified = estimate(2)
    assert yaml.safe_load(export_as(identified, name).text) == yaml.safe_load(
        FORMATS[name].write(identified).text)


@pytest.mark.parametrize("name", FORMATS)
def test_factors_on_measurements_are_named(name):
    """A weak battery and a lost propeller that the estimate corrects are in no file."""
    identified = estimate(2, symmetric=True)
    changed = replace(identified, parameters=replace(identified.parameters, learned={
        "effort_factor": {"heave": 0.8}, "thruster_factor": [1.0, 1.0, 0.0] + [1.0] * 5,
        "velocity_factor": 1.1}))
    note, = (note for note in export_as(changed, name).notes if "corrected" in note)
    assert "heave times 0.8, thruster 3 times 0, the vehicle's velocity times 1.1" in note
    assert not any("corrected" in note for note in export_as(identified, name).notes)
