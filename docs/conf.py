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

"""The documentation as a site: `python3 bootstrap.py docs`, or rosdoc2 in a ROS 2 workspace.

The pages are the Markdown files of this folder, which also read well in a checkout. The reference
of settings, topics, commands and the library is generated from the code into `generated/`.
"""
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS)]

import generate_site  # noqa: E402

from uvms_adaptive_dynamics import __version__  # noqa: E402

project = "uvms_adaptive_dynamics"
author = "uvms_adaptive_dynamics developers"
copyright = f"2026, {author}"
version = release = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 6            # as on GitHub, so links work in both
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"uvms adaptive dynamics {__version__}"    # may break over two lines
html_show_sourcelink = False
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]

# Files of the checkout that are no pages of the site are named, not linked.
OUTSIDE = re.compile(r"\[([^\]]+)\]\((\.\./[^)\s]+)\)")


def _inside(app, name, source):
    """Point links that leave this folder to the generated page, or make them plain text."""
    source[0] = OUTSIDE.sub(lambda found: generate_site.link(found[1], found[2], name), source[0])


def setup(app):
    generate_site.write(DOCS / "generated")
    app.connect("source-read", _inside)
