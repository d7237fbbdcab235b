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

"""The documented parameter file, generated from the settings.

    python -m uvms_adaptive_dynamics.config.template > config/bluerov2_alpha5.yaml
"""
from __future__ import annotations

import json
import sys
import textwrap
from dataclasses import fields
from typing import Any

from . import Config

TEMPLATE_WIDTH = 98

TEMPLATE_HEAD = """\
# BlueROV2 Heavy with a Reach Alpha 5: every setting of uvms_adaptive_dynamics with its default.
#
# The node (--ros-args --params-file, or params_file:= of estimator.launch.py) and the offline
# evaluation (--config) read the same file. Keep only the settings that you change. This file is
# generated from the code (python -m uvms_adaptive_dynamics.config.template): copy it before you
# edit.
#
# - Units are in brackets; ranges are inclusive. Positions and axes of sensors are in REP-103 body
#   axes (x forward, y left, z up), from the body's origin. An invalid value is refused at start
#   with a message that names the setting.
# - In ROS the numbers of a list must either all have a decimal point or all have none.
# - Commented lines with a setting's name are lists that are empty by default.
# - Override the QoS of an input as for any ROS node, for example
#   qos_overrides./imu/data.subscription.reliability: "reliable"
# - Timeouts, gates, masks, estimation.follow_changes and output periods can be changed while the
#   node runs (docs/ros_interface.md); all other settings take effect at the next start.
"""


def settings_file(config: Config | None = None) -> str:
    """The complete parameter file as text, with the values of `config` (default: the defaults)."""
    config = config or Config()
    lines = ["/**:", "  ros__parameters:"]
    for section in fields(config):
        group = getattr(config, section.name)
        summary = (type(group).__doc__ or "").strip().splitlines()[0]
        lines += ["", *commented(summary, 4), f"    {section.name}:"]
        for entry in fields(group):
            lines += setting_lines(entry, getattr(group, entry.name))
    return TEMPLATE_HEAD + "\n".join(lines) + "\n"


def setting_lines(entry: Any, value: Any) -> list[str]:
    """YAML lines of one setting: description, unit and range as a comment, then the value."""
    meta = entry.metadata
    comment = commented(meta["doc"] + _limits(meta), 6)
    if value == ():
        return comment + [f"      # {entry.name}: []"]
    if isinstance(value, tuple):
        return comment + _list(entry.name, [_scalar(element) for element in value])
    return comment + [f"      {entry.name}: {_scalar(value)}"]


def _limits(meta: Any) -> str:
    """Unit and range, or the choices, as ` [m], 0 to 30`."""
    words = f" [{meta['unit']}]" if meta["unit"] else ""
    low, high = meta["low"], meta["high"]
    if meta["choices"]:
        words += " One of: " + ", ".join(meta["choices"]) + "."
    elif low is not None and high is not None:
        words += f" From {low:g} to {high:g}."
    elif low is not None:
        words += f" At least {low:g}."
    elif high is not None:
        words += f" At most {high:g}."
    return words


def _list(name: str, elements: list[str]) -> list[str]:
    one_line = f"      {name}: [{', '.join(elements)}]"
    if len(one_line) <= TEMPLATE_WIDTH:
        return [one_line]
    # The allocation matrix is the only long list; print it as its six rows.
    columns = len(elements) // 6 if len(elements) % 6 == 0 else 10
    rows = [", ".join(f"{element:>7}" for element in elements[i:i + columns])
            for i in range(0, len(elements), columns)]
    return [f"      {name}: [", *(f"        {row}," for row in rows[:-1]), f"        {rows[-1]}]"]


def _scalar(value: Any) -> str:
    """YAML that PyYAML and ROS read as the same type: floats have a point, strings are quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    text = repr(value)
    if isinstance(value, float) and "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text


def commented(text: str, indent: int) -> list[str]:
    """The text wrapped into comment lines."""
    return textwrap.wrap(text, TEMPLATE_WIDTH, initial_indent=" " * indent + "# ",
                         subsequent_indent=" " * indent + "#   ",
                         break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.stdout.write(settings_file())
