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

"""A campaign's figures as tables for the terminal."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model.metrics import shown


def table(found: dict[str, Any], best: dict[str, Any] | None) -> str:
    """Table of one seed; without a held-out test, slope to masked are those of the second half."""
    lines = [f"{'channel':<10}{'R^2 2nd half':>14}{'held out':>10}{'best linear':>13}{'slope':>8}"
             f"{'bias':>10}{'cover':>8}{'width':>9}{'NLL':>8}{'masked':>8}"]
    for name, half in found["second_half"].items():
        tested = found["held_out"][name] if found["held_out"] else None
        c = tested or half
        lines.append(
            f"{name:<10}{shown(half['r2'], '.3f'):>14}"
            f"{shown(tested['r2'] if tested else None, '.3f'):>10}"
            f"{shown(best[name]['r2'] if best else None, '.3f'):>13}{shown(c['slope'], '.3f'):>8}"
            f"{shown(c['bias'], '.4f'):>10}"
            f"{shown(c['coverage95'], '.1%'):>8}{shown(c['interval_width'], '.4g'):>9}"
            f"{shown(c['nll'], '.2f'):>8}"
            f"{c['masked'] / max(c['n'] + c['masked'], 1):>8.1%}")
    return "\n".join(lines)


def worst(found: Sequence[dict[str, Any]]) -> str:
    """Table of the smallest R^2 over all seeds, and the range of slope and coverage."""
    lines = [f"{'channel':<10}{'R^2 2nd half':>14}{'held out':>10}{'slope':>16}{'cover':>18}"]
    for name in found[0]["second_half"]:
        halves = [f["second_half"][name] for f in found]
        tested = [f["held_out"][name] for f in found if f["held_out"]]
        lines.append(f"{name:<10}{_least(halves, 'r2'):>14}{_least(tested, 'r2'):>10}"
                     f"{_range(tested or halves, 'slope', '.3f'):>16}"
                     f"{_range(tested or halves, 'coverage95', '.1%'):>18}")
    return "\n".join(lines)


def _least(channels: Sequence[dict[str, Any]], key: str) -> str:
    return shown(min((c[key] for c in channels if c[key] is not None), default=None), ".3f")


def _range(channels: Sequence[dict[str, Any]], key: str, form: str) -> str:
    values = [c[key] for c in channels if c[key] is not None]
    return f"{min(values):{form}} .. {max(values):{form}}" if values else "-"
