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

"""The documented parameter file: complete, up to date, and read alike by PyYAML and ROS."""
from pathlib import Path

import yaml

from uvms_adaptive_dynamics.config import Config, flatten, load_config
from uvms_adaptive_dynamics.config.template import settings_file

FILE = Path(__file__).resolve().parents[2] / "config" / "bluerov2_alpha5.yaml"


def test_the_file_in_the_tree_is_up_to_date():
    """If this fails: python -m uvms_adaptive_dynamics.config.template > config/bluerov2_alpha5.yaml
    """
    assert FILE.read_text() == settings_file()


def test_it_holds_every_setting_with_its_default():
    """Loading it gives the defaults; only empty lists are commented out."""
    assert load_config(FILE) == Config()
    written = flatten(yaml.safe_load(FILE.read_text())["/**"]["ros__parameters"])
    for name, _, value in Config().settings():
        if value == ():
            assert f"# {name.split('.')[1]}: []" in FILE.read_text()
        else:
            assert name in written


def test_numbers_keep_their_kind():
    """A float is never written as an integer or as 1e-12, which YAML 1.1 reads as a string."""
    written = flatten(yaml.safe_load(FILE.read_text())["/**"]["ros__parameters"])
    for name, _, value in Config().settings():
        if name in written:
            got = tuple(written[name]) if isinstance(value, tuple) else written[name]
            assert got == value and (type(got) is type(value)), name
            if isinstance(value, tuple):
                assert all(type(a) is type(b) for a, b in zip(got, value)), name


def test_every_setting_has_its_words_and_unit():
    """Description and unit are above each setting."""
    text = " ".join(FILE.read_text().replace("#", " ").split())
    for _, entry, _ in Config().settings():
        assert " ".join(entry.metadata["doc"].split()) in text
        assert not entry.metadata["unit"] or f"[{entry.metadata['unit']}]" in text


def test_lines_fit_a_screen():
    """No line is longer than 100 characters."""
    assert max(map(len, FILE.read_text().splitlines())) <= 100
