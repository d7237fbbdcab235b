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

"""Safe YAML: reads like PyYAML, but refuses what would be misread."""
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.disk.yaml_text import DEEPEST, key_comments, number_list, parse_yaml
from uvms_adaptive_dynamics.errors import ConfigError

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def refusal(text):
    begin = time.process_time()     # independent of other processes
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "x", ConfigError, "Do this.")
    assert time.process_time() - begin < 1.0 and "\n" not in str(caught.value)
    return str(caught.value)


def bomb(line, last):
    """Nested aliases that expand to a billion values in ten lines."""
    return "".join(f"a{k}: &a{k} {line(k - 1)}\n" for k in range(1, 10)) + last


@given(PLAIN)
def test_what_is_dumped_is_read(value):
    """Holds for any plain data in any YAML style."""
    for flow in (True, False, None):
        text = yaml.safe_dump(value, default_flow_style=flow)
        assert "*" in text or parse_yaml(text, "x", ConfigError) == value


@given(st.text(alphabet="[]{}:,-?&*!|>'\"%#a1. \n\t\0\ufeff", max_size=60) | st.text())
def test_any_text_is_data_or_a_sentence(text):
    """Raises no other exception, whatever the text."""
    try:
        parse_yaml(text, "x", ConfigError)
    except ConfigError as error:
        assert str(error).startswith("x is not valid YAML")


@pytest.mark.parametrize("text, words", [
    ("a: &x\n  b: *x", "at line 2: alias '*x', which ROS parameter files do not allow"),
    ("a: &x [1]\nb: *x", "write out its value. Do this."),
    (bomb(lambda k: f"[{', '.join([f'*a{k}'] * 9)}]" if k else "[1]", "b: *a9"), "alias"),
    (bomb(lambda k: f"{{<<: [{', '.join([f'*a{k}'] * 9)}]}}" if k else "{}", "b: *a9"), "alias"),
    ("a: 1\nb: 2\na: 3", "at line 3: duplicate key 'a', also at line 1; delete one"),
    ("{a: {b: 1, b: 1}}", "duplicate key 'b'"),
    ("a: " + "9" * 5000, "a number of 5000 characters"),
    ("a: " + "1:" * 100_000 + "1", "a number of 200001 characters"),
    ("a: 2001-99-99", "month must be in 1..12"), ("a: 1\n---\nb: 2", "another document"),
    ("a: !!python/object/apply:os.getcwd []", "could not determine a constructor")])
def test_what_is_not_data_is_refused_with_its_line(text, words):
    """Immediately, in one line."""
    assert words in refusal(text)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{a: "])
def test_nesting_has_an_end(opening):
    """Even at depths where the parser's recursion would crash the process. (PyYAML has a limit of
    its own since 6.0.4, with its own words.)"""
    for count in (DEEPEST + 1, 20_000, 200_000):
        assert any(word in refusal(opening * count) for word in ("deep", "nesting depth"))


def test_nesting_of_forty_is_none_of_our_business():
    """Ten times the depth of our files is accepted."""
    assert str(parse_yaml("[" * 40 + "]" * 40, "x", ConfigError)).count("[") == 40


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_lists_of_numbers_come_back_to_the_last_bit(values):
    """As numbers, even 1e-5, which YAML 1.1 reads as a string; lines keep the given width."""
    text = number_list(values, 60)
    found = parse_yaml(f"x: {text}", "x", ConfigError)["x"]
    assert found == values and all(type(value) is float for value in found)
    assert all(len(line) <= 60 for line in text.splitlines())


def test_a_comment_belongs_to_the_key_below_it_or_to_its_own_line():
    """The one above is meant for the key, in several lines too; a section has its own."""
    text = """\
# of the file

/**:
  # of a
  a:
    # first,
    #   and second line
    b: [1,
        2]   # not this one
    c: "# no comment"   # beside it

    d: [1,
        2]   # beside its end
    e: {f: 1}
"""
    assert key_comments(text) == {"/**.a": "of a", "/**.a.b": "first, and second line",
                                  "/**.a.c": "beside it", "/**.a.d": "beside its end"}
    assert key_comments("") == {} and key_comments("- 1 # one") == {}
