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

"""batch.html: a batch on one self-contained page; text and style are in `batch.html.jinja`."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .compare import ChannelComparison, compared, judged_by_variant
from .table import figure, nats, percent, points, relative, summaries, verdicts_of

BATCH_TEMPLATE = "batch.html.jinja"


class Cell(NamedTuple):
    """A figure in a map; `strength` (0 to 1) is the darkness of its background."""

    text: str
    strength: float


def batch_page(content: Mapping[str, Any]) -> str:
    """The page for the content of a batch.json."""
    judged = judged_by_variant(content["tasks"])
    first = next(iter(judged), "")
    return _render(
        title="Batch", content=content, judged=judged, summaries=summaries, first=first,
        failed=[task for task in content["tasks"] if task["result"] is None],
        differences={name: compared(judged[first], found)
                     for name, found in judged.items() if name != first},
        maps={name: _map(found) for name, found in judged.items()},
        verdicts={name: verdicts_of(content["tasks"], name) for name in judged},
        said=_said(content["tasks"]))


def comparison_page(old: str, new: str, found: Mapping[str, Sequence[ChannelComparison]]) -> str:
    """The page that compares the results called `old` and `new`, by variant."""
    return _render(title=f"{new} compared with {old}", content=None, differences=found, first=old)


def _render(**values: Any) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.get_template(BATCH_TEMPLATE).render(
        **values, figure=figure, percent=percent, relative=relative, points=points, nats=nats)


def _map(judged: Mapping[tuple[str, str], Mapping[str, Any]]
         ) -> tuple[list[str], list[tuple[str, list[Cell]]]]:
    """Channels, and each recording with its R^2; the darker, the less is explained."""
    channels = list(dict.fromkeys(name for found in judged.values() for name in found))
    return channels, [
        (name if name == split else f"{split}: {name}",
         [_cell(found[channel]["r2"] if channel in found else None) for channel in channels])
        for (split, name), found in judged.items()]


def _cell(r2: float | None) -> Cell:
    return Cell(figure(r2, ".3f"), 0.0 if r2 is None else min(1.0, max(0.0, 1.0 - r2)) ** 0.5)


def _said(tasks: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, str]]:
    """Findings: sentence, number of tasks with it, and the first of them."""
    found: dict[str, list[str]] = {}
    for task in tasks:
        for sentence in (task["result"] or {"findings": []})["findings"]:
            found.setdefault(sentence, []).append(f"{task['variant']}, {task['split']}")
    return [(sentence, len(where), where[0]) for sentence, where in found.items()]
