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

"""The documentation site: pages generated from the code, and link targets."""
import importlib.util
import re
from dataclasses import fields
from pathlib import Path

import pytest

import uvms_adaptive_dynamics
from uvms_adaptive_dynamics.__main__ import COMMANDS
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals import topics

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site():
    spec = importlib.util.spec_from_file_location("generate_site", ROOT / "docs/generate_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_setting_is_in_the_reference(site):
    """With its default, and also after one is added."""
    page, config = site.settings(), Config()
    missing = [f"{section.name}.{entry.name}" for section in fields(config)
               for entry in fields(getattr(config, section.name))
               if f"`{section.name}.{entry.name}`" not in page]
    assert missing == []
    assert "`filter.period` = `0.02` (s, " in page


def test_every_topic_command_and_public_name_is_in_the_reference(site):
    """From the tables that nodes, command line and library are built from."""
    page = site.topic_tables()
    assert [each.name for each in (*topics.OUTPUTS, *topics.FEEDFORWARD_OUTPUTS,
                                    *topics.IDENTIFICATION_OUTPUTS)
            if f"`~/{each.name}`" not in page] == []
    page = site.commands()
    assert [name for name in COMMANDS if f"\n## {name}\n" not in page] == []
    assert "--frozen" in page
    page = site.library()
    assert [name for name in uvms_adaptive_dynamics.__all__
            if f"\n## {name}\n" not in page and name != "__version__"] == []
    assert "### Estimator.step" in page


def test_every_page_stands_in_the_table_of_contents():
    """Sphinx would warn, but only where it is installed."""
    index = (ROOT / "docs/index.md").read_text()
    pages = {path.stem for path in ROOT.glob("docs/*.md")} - {"index"}
    assert {page for page in pages if not re.search(rf"^{page}$", index, re.MULTILINE)} == set()


@pytest.mark.parametrize("text, target, page, expected", [
    ("README", "../README.md#limits", "signals", "[README](generated/readme.md#limits)"),
    ("x", "../examples/README.md", "robots", "[x](generated/examples.md)"),
    ("`a`", "../config/a.yaml", "robots", "`a`"),
    ("a", "../config/a.yaml", "b", "a (`config/a.yaml`)")])
def test_links_out_of_the_folder_lead_to_pages_of_the_site(site, text, target, page, expected):
    """Or to plain text if the site has no such page."""
    assert site.link(text, target, page) == expected


def test_links_of_a_page_that_lies_elsewhere_are_as_from_the_site(site):
    """Those of the README, to pages, pictures and other files."""
    page = site.elsewhere("README.md")
    assert "](../signals.md)" in page and "](../prediction_vehicle.png)" in page
    assert "](docs/" not in page and "](examples/" not in page
