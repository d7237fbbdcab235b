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

"""A growing set of proposed settings, each with its reason, and what only a person can decide."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ...config import Config
from ...config.files import TO_DO
from ...config.template import commented, setting_lines
from ...errors import ConfigError

PROPOSAL_HEAD = """\
# Proposed by the command inspect for {}.
# Only settings that differ from their defaults, each with the evidence for it.
"""


class Proposal:
    """Settings that fit a recording. `missing`: what the data cannot tell, as (sentence, line to
    complete and paste, or ''). `reasons`: evidence for given settings, by dotted name."""

    def __init__(self, config: Config, reasons: Mapping[str, str] | None = None):
        self.config = config
        self.given = config.changed()
        self.reasons = dict(reasons or {})
        self.missing: list[tuple[str, str]] = []

    def set(self, values: Mapping[str, Any], why: str) -> bool:
        """Propose settings; returns False if they change nothing or do not fit the others."""
        current = {name: value for name, _, value in self.config.settings()}
        new = {name: value for name, value in values.items() if current[name] != value}
        if not new:
            return False
        try:
            self.config = self.config.with_values(new)
        except ConfigError as error:
            self.lack(f"{why}, but that does not fit the other settings: {error}")
            return False
        self.reasons.update(dict.fromkeys(new, why))
        return True

    def state(self) -> tuple[Config, dict[str, str]]:
        """The settings and their reasons, for `return_to`."""
        return self.config, dict(self.reasons)

    def return_to(self, state: tuple[Config, dict[str, str]]) -> None:
        """Propose the settings of an earlier `state` again, for the reasons of then."""
        self.config, self.reasons = state

    def lack(self, sentence: str, line: str = "") -> None:
        """Add something that a person has to find out; `line`: YAML to complete, of any length."""
        if (sentence, line) not in self.missing:
            self.missing.append((sentence, line))

    def changes(self) -> dict[str, Any]:
        """Proposed settings that differ from the given ones: values by dotted name."""
        changed = self.config.changed()
        return {name: value for name, _, value in self.config.settings()
                if (self.given[name] != value if name in self.given else name in changed)}

    def yaml(self, recording: str) -> str:
        """A ROS parameter file with all settings that differ from their defaults."""
        lines = [PROPOSAL_HEAD.format(recording).rstrip(), "/**:", "  ros__parameters:"]
        changed = self.config.changed()
        for section in fields(self.config):
            group = getattr(self.config, section.name)
            mine = [entry for entry in fields(group) if f"{section.name}.{entry.name}" in changed]
            if mine:
                lines.append(f"    {section.name}:")
            for entry in mine:
                name = f"{section.name}.{entry.name}"
                why = self.reasons.get(name, "as given")
                value = getattr(group, entry.name)
                lines += commented(why, 6)
                lines += [f"      {entry.name}: []"] if value == () else [
                    one for one in setting_lines(entry, value) if not one.lstrip().startswith("#")]
        for sentence, line in self.missing:
            lines += commented(f"{TO_DO}: {sentence}", 4)
            lines += [f"    # {part}" for part in line.splitlines()]
        if len(changed) == 0:
            lines[2] += " {}"      # ROS refuses a file with nothing there
            if any(line for _, line in self.missing):
                lines[2] += "    # remove the {} when you complete a line below"
        return "\n".join(lines) + "\n"
