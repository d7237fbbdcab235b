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

"""Parameter file of the paper to the letter: up to date, only differences, installed."""
import glob
import runpy
from pathlib import Path

import setuptools
import yaml

from uvms_adaptive_dynamics.config import Config, flatten, load_config
from uvms_adaptive_dynamics.config.paper import COST, LETTER, WINDOW, paper_file

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "config" / "paper.yaml"


def test_the_file_in_the_tree_is_up_to_date():
    """If this fails: python -m uvms_adaptive_dynamics.config.paper > config/paper.yaml"""
    assert FILE.read_text() == paper_file()


def test_it_holds_what_differs_from_the_defaults_and_nothing_else():
    """Every setting in it differs from the default, and it contains every difference."""
    written = flatten(yaml.safe_load(FILE.read_text())["/**"]["ros__parameters"])
    assert written == load_config(FILE).changed() == Config().with_values(LETTER).changed()


def test_the_cost_alone_is_a_part_of_the_letter():
    """Arrival cost and window, with the same values."""
    assert set(COST) == {"estimation.arrival", "estimation.horizon"}
    assert COST.items() <= LETTER.items() and LETTER["estimation.horizon"] == WINDOW


def test_it_is_installed_beside_the_other(monkeypatch):
    """setup.py installs every parameter file of the tree into the package's share."""
    said = {}
    monkeypatch.setattr(setuptools, "setup", lambda **values: said.update(values))
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / "setup.py"))
    installed = dict(said["data_files"])["share/uvms_adaptive_dynamics/config"]
    assert set(glob.glob("config/*.yaml")) <= set(installed) and "config/paper.yaml" in installed
