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

"""XML of exports: digits, comments, refusals."""
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.export import xml_text
from uvms_adaptive_dynamics.export.identified import ExportError


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_all_their_digits(value):
    """Numbers have a point before any exponent, and no negative zero."""
    text = xml_text.number(value)
    assert float(text) == value and text != "-0.0"
    assert "." in text.partition("e")[0]


def test_a_comment_may_say_anything():
    """Even options with two dashes, which XML comments cannot hold."""
    root = ET.Element("a")
    xml_text.element(root, "b", 1.0, c=1e-5, d="e")
    text = xml_text.commented(xml_text.written(root), ["by --mass", "--->", "<&"])
    found = xml_text.parsed(text, "a", "it")
    assert found.find("b").text == "1.0" and found.find("b").get("c") == "1.0e-05"
    assert "by - -mass" in text


@pytest.mark.parametrize("text, part", [
    ("<a>" + "x" * 4_000_001 + "</a>", "longer than 4 MB"), ("<!DOCTYPE a><a/>", "entities"),
    ("<a", "not well-formed"), ("<b/>", "root element <b>; expected <a>")])
def test_what_is_no_export_is_refused(text, part):
    with pytest.raises(ExportError, match=part):
        xml_text.parsed(text, "a", "it")


@pytest.mark.parametrize("text", [None, "", "1 2", "x", "nan", "1e999", "1_0 2"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ExportError, match="expected 3 finite numbers"):
        xml_text.values_of(text, 3, "it")
