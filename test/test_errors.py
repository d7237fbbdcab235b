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

"""Values and errors in messages: one short line for any input."""
from uvms_adaptive_dynamics.errors import BRIEF, BagError, brief, in_words


def test_an_error_that_is_not_ours_is_said_with_its_type():
    """A KeyError's own text is a bare key."""
    assert in_words(BagError("bag 'x' does not exist.")) == "bag 'x' does not exist."
    assert in_words(KeyError("imu")) == "KeyError: 'imu'"


def test_a_value_is_shown_as_it_was_given_on_one_short_line():
    """Long texts and lists are cut; what cannot be printed is named by its type."""
    assert [brief(v) for v in ("a\nb", 1.5, None, [1, 2])] == ["'a\\nb'", "1.5", "None", "[1, 2]"]
    assert len(brief("x" * 1000)) == len(brief(list(range(1000)))) == BRIEF
    assert brief("x" * 100, 300) == repr("x" * 100)
    nested = []
    for _ in range(100_000):
        nested = [nested]
    assert brief(10 ** 5000) == "a value of type int that is too large to print"
    assert "list" in brief(nested)
