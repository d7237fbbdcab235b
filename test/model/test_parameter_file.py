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

"""Parameter files: a saved set is read back exactly; any other content raises ParameterError."""
import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.model import parameter_file
from uvms_adaptive_dynamics.model.parameter_file import load_parameters, save_parameters
from uvms_adaptive_dynamics.model.parameter_set import CAUSES, ParameterSet
from uvms_adaptive_dynamics.model.parameters import ParameterTable
from uvms_adaptive_dynamics.model.sample import channel_names

JOINTS = ("axis_e", "axis_d")
TABLE = ParameterTable(True, JOINTS, (False, False), (0.2, 0.4), (0.1, 0.1))
ROBOT = {"joints": list(JOINTS), "vehicle": True, "channels": list(channel_names(True, JOINTS))}
# A robot with one joint on a fixed base: its files are small enough to corrupt hundreds of times.
SMALL = ParameterTable(False, ("axis_e",), (False,), (0.2,), (0.1,))
SMALL_ROBOT = {"joints": ["axis_e"], "vehicle": False, "channels": ["axis_e"]}
# Property tests write into one folder over and over.
SHARED_FOLDER = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def covariance_of(table, seed, rank):
    """(p, p) of the given rank, with deviations over eight orders of magnitude."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(table.size, rank)) * 10.0 ** rng.uniform(-6, 2, (table.size, 1))
    return root @ root.T


def saved_set(table=TABLE, seed=0, rank=20, robot=ROBOT):
    rng = np.random.default_rng(seed)
    covariance = covariance_of(table, seed, rank)
    covariance[3] = covariance[:, 3] = 0.0     # a frozen parameter
    words = rng.choice(["measured", "weak", "prior", "frozen"], table.size)
    return ParameterSet(table.names, rng.normal(size=table.size), covariance,
                        rng.uniform(0.1, 3.0, table.channels), robot,
                        known_from=tuple(map(str, words)),
                        identifiability={"rank": 40, "warnings": ["W and B only as W - B"]})


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """The content of a saved file, as plain types."""
    path = save_parameters(tmp_path_factory.mktemp("saved") / "p.yaml", saved_set())
    return yaml.safe_load(path.read_text())


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The same for the small robot."""
    path = tmp_path_factory.mktemp("saved") / "p.yaml"
    save_parameters(path, saved_set(SMALL, robot=SMALL_ROBOT))
    return yaml.safe_load(path.read_text())


def refusal(tmp_path, changed):
    """The error message for a file with this content."""
    path = tmp_path / "changed.yaml"
    text = changed if isinstance(changed, str) else yaml.safe_dump(changed, sort_keys=False)
    path.write_text(text)
    with pytest.raises(ParameterError) as caught:
        load_parameters(path).for_table(TABLE, "prior")
    assert str(path) in str(caught.value)
    return str(caught.value)


# --- round trip ----------------------------------------------------------------------------------

@settings(max_examples=30, deadline=None, suppress_health_check=SHARED_FOLDER)
@given(seed=st.integers(0, 2**31), rank=st.integers(0, 60))
def test_everything_that_is_saved_comes_back_to_the_bit(tmp_path, seed, rank):
    """Values, covariance (singular ones too), noise, robot, known_from and identifiability."""
    given_set = saved_set(seed=seed, rank=rank)
    found = load_parameters(save_parameters(tmp_path / "p.yaml", given_set)).for_table(TABLE)
    for name in ("names", "robot", "version", "known_from", "identifiability"):
        assert getattr(found, name) == getattr(given_set, name), name
    for name in ("values", "noise_stddev"):
        np.testing.assert_array_equal(getattr(found, name), getattr(given_set, name))
    lower = np.tril_indices(TABLE.size)
    np.testing.assert_array_equal(found.covariance[lower], given_set.covariance[lower])
    np.testing.assert_array_equal(found.covariance, found.covariance.T)


@settings(max_examples=50, deadline=None, suppress_health_check=SHARED_FOLDER)
@given(values=st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8),
                              st.floats(-1e12, 1e12), min_size=1, max_size=8))
def test_any_names_and_numbers_survive(tmp_path, values):
    """YAML's own words (yes, null, 1e3), quotes and line breaks in names, the smallest floats."""
    given_set = ParameterSet(tuple(values), np.array(list(values.values())))
    found = load_parameters(save_parameters(tmp_path / "p.yaml", given_set))
    assert found.names == given_set.names
    np.testing.assert_array_equal(found.values, given_set.values)
    assert found.covariance is found.noise_stddev is None and found.robot == {}


def test_a_set_is_put_into_the_order_of_the_robot():
    """Values, covariance and known_from move together; noise is by channel and stays."""
    given_set, order = saved_set(), np.random.default_rng(1).permutation(TABLE.size)
    shuffled = replace(
        given_set, names=tuple(TABLE.names[i] for i in order), values=given_set.values[order],
        covariance=given_set.covariance[np.ix_(order, order)],
        known_from=tuple(given_set.known_from[i] for i in order))
    found = shuffled.for_table(TABLE)
    assert found.names == TABLE.names and found.known_from == given_set.known_from
    np.testing.assert_array_equal(found.values, given_set.values)
    np.testing.assert_array_equal(found.covariance, given_set.covariance)
    np.testing.assert_array_equal(found.noise_stddev, given_set.noise_stddev)
    assert found.identifiability == given_set.identifiability


def test_what_timing_and_calibration_may_be_off_comes_back(tmp_path):
    """Bit-exact, in the robot's order, and included in the deviations; another size is refused."""
    off = np.random.default_rng(2).normal(size=(CAUSES, TABLE.size))
    given_set = replace(saved_set(), systematic=off)
    found = load_parameters(save_parameters(tmp_path / "p.yaml", given_set)).for_table(TABLE)
    np.testing.assert_array_equal(found.systematic, off)
    np.testing.assert_allclose(found.stddev ** 2,
                               np.diag(given_set.covariance) + np.sum(off ** 2, axis=0))
    document = yaml.safe_load((tmp_path / "p.yaml").read_text())
    for wrong in (3, [[1.0]], document["systematic"][:3], "abcd"):
        assert f"expected {CAUSES} or more lists of" in refusal(
            tmp_path, {**document, "systematic": wrong})
    for known in (5, 4):    # saved by a version without unseen forces; nor the noise of motion
        document["systematic"].pop()
        (tmp_path / "older.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
        older = load_parameters(tmp_path / "older.yaml").for_table(TABLE)
        np.testing.assert_array_equal(
            older.systematic, np.vstack([off[:known], np.zeros((CAUSES - known, TABLE.size))]))
    document["systematic"][0][0] = float("nan")
    assert "systematic has entries that are not finite" in refusal(tmp_path, document)


def test_a_file_by_hand_needs_the_parameters_alone(tmp_path):
    """No schema, no robot; 1e-3 is text in YAML 1.1 but a number for people."""
    path = tmp_path / "hand.yaml"
    path.write_text("parameters:\n" + "".join(f"  {name}: 1e-3\n" for name in TABLE.names))
    found = load_parameters(path).for_table(TABLE)
    assert (found.values == 1e-3).all() and found.covariance is None and found.robot == {}


def test_a_set_too_long_to_be_read_again_is_not_saved(tmp_path, monkeypatch):
    """With the size, and the file before stays."""
    monkeypatch.setattr(parameter_file, "LARGEST_PARAMETER_FILE", 50_000)
    names = tuple(f"p{k}" for k in range(90))
    rng = np.random.default_rng(0)
    few = ParameterSet(names[:20], rng.normal(size=20), covariance=np.eye(20))
    save_parameters(tmp_path / "p.yaml", few)
    root = rng.normal(size=(90, 90))
    many = ParameterSet(names, rng.normal(size=90), covariance=root @ root.T)
    with pytest.raises(ParameterError, match=r"not saved: 90 parameters .* take 0\.. MB; expected"):
        save_parameters(tmp_path / "p.yaml", many)
    assert load_parameters(tmp_path / "p.yaml").names == few.names


def test_a_set_that_could_not_be_loaded_is_not_saved(tmp_path):
    """An existing file stays as it was."""
    path = save_parameters(tmp_path / "p.yaml", saved_set())
    before = path.read_text()
    spoilt = saved_set().covariance
    spoilt[0, 0] = np.nan
    with pytest.raises(ParameterError, match="not saved"):
        save_parameters(path, replace(saved_set(), covariance=spoilt))
    assert path.read_text() == before and list(tmp_path.iterdir()) == [path]


# --- refusals ------------------------------------------------------------------------------------

@pytest.mark.parametrize("value", [0, 0.0, -1.0, math.nan, math.inf, 1e-300, 1e300, None, True,
                                   "loud", [1.0], {}])
def test_noise_that_is_no_positive_number_is_refused(tmp_path, document, value):
    """A weight of one over zero, or NaN, would fail every solve."""
    changed = copy.deepcopy(document)
    changed["noise_stddev"][2] = value
    said = refusal(tmp_path, changed)
    assert "noise_stddev" in said and "expected a number" in said


def test_noise_of_a_channel_is_named(tmp_path, document):
    """The message states got, expected and what to do."""
    changed = copy.deepcopy(document)
    changed["noise_stddev"][2] = 0.0
    said = refusal(tmp_path, changed)
    assert "noise_stddev of 'heave' is 0; expected a number from 1e-09" in said
    assert "delete 'noise_stddev'" in said


@pytest.mark.parametrize("robot", [ROBOT, {}, {"joints": list(JOINTS), "vehicle": True}])
@pytest.mark.parametrize("count", [0, 1, 7, 9])
def test_noise_of_another_number_of_channels_is_refused(tmp_path, document, robot, count):
    """Even if the file does not state its channels."""
    said = refusal(tmp_path, {**document, "robot": robot, "noise_stddev": [1.0] * count})
    assert f"noise_stddev has {count} entries, expected 8" in said


@pytest.mark.parametrize("noise", [3.0, "1 1 1", {"surge": 1.0}, True])
def test_noise_that_is_no_list_is_refused(tmp_path, document, noise):
    """A mapping or a single number has no order of channels."""
    assert "expected a list of numbers" in refusal(tmp_path, {**document, "noise_stddev": noise})


@pytest.mark.parametrize("place, value, words", [
    (0, -1.0, "variance of 'm_X_du' is -1"), (0, math.nan, "not finite"),
    (1, math.inf, "not finite"), (1, 1e9, "not positive semidefinite"),
    (1, "x", "expected a number"), (1, None, "expected a number"), (1, False, "expected a number")])
def test_a_covariance_that_is_none_is_refused(tmp_path, document, place, value, words):
    """Negative variance, NaN, a correlation beyond one, and text."""
    changed = copy.deepcopy(document)
    changed["covariance_lower_triangle"][place] = value
    assert words in refusal(tmp_path, changed)


def test_a_correlation_slightly_beyond_one_is_refused(tmp_path, document):
    """1.001 is not rounding, whatever the units of the two parameters."""
    covariance = saved_set(rank=60).covariance
    for low, high in ((0, 10), (int(np.argmin(np.diag(covariance) + (np.arange(51) == 3))), 20)):
        changed = covariance.copy()
        changed[low, high] = changed[high, low] = 1.001 * math.sqrt(
            covariance[low, low] * covariance[high, high])
        lower = changed[np.tril_indices(TABLE.size)].tolist()
        said = refusal(tmp_path, {**document, "covariance_lower_triangle": lower})
        assert "not positive semidefinite" in said and "delete" in said


@pytest.mark.parametrize("change", [-1, 1])
def test_a_covariance_of_another_size_is_refused(tmp_path, document, change):
    """The message states got and expected."""
    lower = document["covariance_lower_triangle"]
    lower = lower[:-1] if change < 0 else [*lower, 0.0]
    said = refusal(tmp_path, {**document, "covariance_lower_triangle": lower})
    assert f"has {1326 + change} entries, expected 1326 for 51 parameters" in said


@pytest.mark.parametrize("shape", [(51, 50), (50, 51), (51,), (2, 51, 51)])
def test_a_covariance_of_wrong_shape_is_refused_in_the_library(shape):
    """A set created by a program obeys the same rules as one from a file."""
    with pytest.raises(ParameterError, match="covariance has shape"):
        replace(saved_set(), covariance=np.zeros(shape)).for_table(TABLE, "prior")


def test_an_asymmetric_covariance_is_refused_in_the_library():
    """Nothing tells which of the two entries is right."""
    changed = saved_set().covariance
    changed[0, 1] *= 0.5
    with pytest.raises(ParameterError, match="not symmetric"):
        replace(saved_set(), covariance=changed).for_table(TABLE, "prior")


@pytest.mark.parametrize("schema", [0, 2, "1", 1.5, True, None, [1]])
def test_another_schema_is_refused(tmp_path, document, schema):
    """A later version may use the same keys differently."""
    assert "expected 1" in refusal(tmp_path, {**document, "schema": schema})


def test_a_file_of_another_program_is_refused(tmp_path, document):
    """The message names the program."""
    assert "'calibration'" in refusal(tmp_path, {**document, "package": "calibration"})


@pytest.mark.parametrize("robot, words", [
    ({"joints": ["axis_d", "axis_e"]}, "its joints (axis_d, axis_e), expected (axis_e, axis_d)"),
    ({"joints": ["axis_e"]}, "its joints (axis_e), expected"),
    ({"vehicle": False}, "its vehicle false, expected true"),
    ({"channels": list(channel_names(True, JOINTS))[::-1]}, "its channels (axis_d, axis_e, yaw"),
    ({"channels": ["surge"]}, "its channels (surge)"),
    ({"joints": "axis_e"}, "expected a list of names"), ({"joints": [1, 2]}, "a list of names"),
    ({"vehicle": "yes"}, "expected true or false"), ({"channels": 8}, "expected a list of names")])
def test_the_file_of_another_robot_is_refused(tmp_path, document, robot, words):
    """Joints in their order, the vehicle and the channels are compared with the running robot."""
    changed = {key: value for key, value in document.items() if key != "noise_stddev"}
    assert words in refusal(tmp_path, {**changed, "robot": robot})


def test_other_names_are_refused(tmp_path, document):
    """Unknown and missing ones are named."""
    parameters = {**document["parameters"], "elbow.m": 1.0}
    del parameters["W"]
    said = refusal(tmp_path, {"parameters": parameters})
    assert "unknown to this robot: elbow.m" in said and "missing: W" in said


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300, None, True, "heavy", [1.0]])
def test_a_value_that_is_no_number_is_refused(tmp_path, document, value):
    """The message names the parameter or shows the value."""
    said = refusal(tmp_path, {"parameters": {**document["parameters"], "W": value}})
    assert "'W'" in said or repr(value) in said


@pytest.mark.parametrize("key", ["known_from", "identifiability", "robot"])
@pytest.mark.parametrize("value", [3, "x", [1], True])
def test_what_should_be_a_mapping_is_one(tmp_path, document, key, value):
    """The message names the entry."""
    assert f"'{key}'" in refusal(tmp_path, {**document, key: value})


def test_an_unknown_flag_is_refused(tmp_path, document):
    """A typing error would otherwise be found when flags are compared, minutes later."""
    said = refusal(tmp_path, {**document, "known_from": {**document["known_from"], "W": "banana"}})
    assert "known_from of 'W' is 'banana'; expected one of prior, weak, measured, frozen" in said
    assert "delete 'known_from'" in said


@pytest.mark.parametrize("rows", [10 ** 13, 10 ** 400])
def test_an_absurd_number_of_rows_is_refused(tmp_path, document, rows):
    """It would overflow, or freeze the noise for good."""
    said = refusal(tmp_path, {**document, "learned": {"rows": rows}})
    assert "rows under learned is 1000" in said and "up to 1e+12" in said and "delete it" in said


@pytest.mark.parametrize("text, words", [
    ("", "no mapping 'parameters'"), ("parameters: [1]", "no mapping 'parameters'"),
    ("parameters: {W: [", "not valid YAML"), ("parameters: {W: 2001-99-99}", "not valid YAML"),
    ("[" * 5000, "not valid YAML"), ("a: !!python/object:os.system {}", "not valid YAML"),
    ("parameters: {1: 2.0, '1': 3.0}", "occurs twice"),
    ("parameters: {W: 1" + "0" * 400 + "}", "expected a number")])
def test_texts_that_are_no_parameter_file_are_refused(tmp_path, text, words):
    """Whatever YAML makes of them."""
    assert words in refusal(tmp_path, text)


@pytest.mark.parametrize("name", ["absent.yaml", ".", "a\0b", "~nobody-of-this-name/p.yaml"])
def test_a_path_that_cannot_be_read_is_refused(tmp_path, name):
    """A missing file, a folder, a name that no file can have."""
    path = name if name.startswith("~") else f"{tmp_path}/{name}"
    with pytest.raises(ParameterError, match="cannot be read"):
        load_parameters(path)


# --- corruption ----------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner,
                                                                max_size=3), max_leaves=5)


def usable_or_refused(path):
    """Whether a file can be used; if so, all of it is what it must be."""
    try:
        found = load_parameters(path).for_table(SMALL, "prior")
    except ParameterError as refused:
        assert str(refused)
        return False
    assert np.isfinite(found.values).all() and found.names == SMALL.names
    assert found.noise_stddev is None or (found.noise_stddev > 0).all()
    assert found.covariance is None or np.isfinite(found.covariance).all()
    return True


@settings(max_examples=200, deadline=None, suppress_health_check=SHARED_FOLDER)
@given(data=st.data())
def test_any_entry_may_be_replaced_by_anything(tmp_path, small, data):
    """Either the file is usable, or a ParameterError says why not; nothing else happens."""
    changed = copy.deepcopy(small)
    key = data.draw(st.sampled_from(sorted(changed)))
    place, value = changed[key], data.draw(anything)
    if isinstance(place, (list, dict)) and data.draw(st.booleans()):
        keys = list(place) if isinstance(place, dict) else range(len(place))
        place[data.draw(st.sampled_from(keys))] = value
    else:
        changed[key] = value
    path = tmp_path / "changed.yaml"
    path.write_text(yaml.safe_dump(changed), encoding="utf-8")
    assert usable_or_refused(path) or changed != small


@settings(max_examples=200, deadline=None, suppress_health_check=SHARED_FOLDER)
@given(cut=st.floats(0, 1), garbage=st.binary(max_size=6), skip=st.integers(0, 40))
def test_any_bytes_may_be_spoilt(tmp_path, small, cut, garbage, skip):
    """A faulty disk: bytes replaced, inserted or cut off anywhere."""
    path = tmp_path / "spoilt.yaml"
    text = yaml.safe_dump(small).encode()
    at = int(cut * len(text))
    spoilt = text[:at] + garbage + text[at + skip:]
    path.write_bytes(spoilt)
    assert usable_or_refused(path) or spoilt != text


def with_information(size=4, **changes):
    names = tuple("abcd"[:size])
    found = ParameterSet(names, np.arange(1.0, size + 1), np.eye(size),
                         information=2 * np.eye(size), gradient=np.ones(size))
    return replace(found, **changes)


def test_the_cost_that_was_minimized_survives_the_file(tmp_path):
    """Information, gradient and row noise are read back as written."""
    A = np.array([[4.0, 1, 0, 0], [1, 3, 0, 0], [0, 0, 2, .1], [0, 0, .1, 1]])
    given = with_information(information=A, row_noise_stddev=np.array([.5, .25]),
                             gradient_covariance=A @ A,
                             residual_products=np.arange(12.0).reshape(2, 3, 2))
    found = load_parameters(save_parameters(tmp_path / "p.yaml", given))
    for name in ("information", "gradient", "gradient_covariance", "row_noise_stddev",
                 "residual_products"):
        np.testing.assert_array_equal(getattr(found, name), getattr(given, name))


@pytest.mark.parametrize(
    "changes", [{"information": -np.eye(4)}, {"information": np.full(
        (4, 4), np.nan)}, {"information": np.ones(
            (4, 4))}, {"information": np.eye(3)}, {"gradient": None}, {
                "gradient": np.full(4, np.inf)
            }, {"gradient": np.ones(3)}, {"covariance": None}, {"row_noise_stddev": np.zeros(2)},
                {"gradient_covariance": 1j * np.eye(4)}, {"information": np.eye(4) + 0j},
                {"information": np.eye(4).astype(object)}, {"gradient": np.ones(4) + 0j},
                {"gradient_covariance": -np.eye(4)}, {"gradient_covariance": np.eye(3)},
                {"gradient_covariance": np.full((4, 4), np.nan)},
                {"gradient_covariance": np.eye(4) + 1e300 * (1 - np.eye(4))},
                {"gradient_covariance": np.diag([1e-300, 1, 1, 1]) + 1e300 * (1 - np.eye(4))},
                {"residual_products": -np.ones((2, 3, 2))},
                {"residual_products": np.full((2, 3, 2), np.inf)},
                {"covariance": np.eye(4).tolist()}, {"gradient": [0.0] * 4},
                {"intervals": (np.zeros(4), np.ones(4))}, {"systematic": np.full((5, 4), 1e200)}])
def test_a_cost_that_cannot_be_is_refused(changes, tmp_path):
    """Not positive definite, not finite, too large, not real, no array, of another size, or
    incomplete."""
    with pytest.raises(ParameterError):
        save_parameters(tmp_path / "p.yaml", with_information(**changes))
