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

"""Split recordings into pieces to learn from and pieces to hold out."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..config import Config
from ..signals.topics import inputs
from .bags import check_bag
from .recording import Piece


def divided(bags: Sequence[Path], config: Config, begin: float, end: float | None,
            percent: float | None) -> tuple[list[Piece], list[Piece]]:
    """(pieces to learn from, pieces held out) of the recordings, each from `begin` to `end` [s]:
    the first `percent` of their total time, and the rest. Without `percent` nothing is held out."""
    pieces = [Piece(bag, begin, end) for bag in bags]
    if percent is None:
        return pieces, []
    lengths = []
    for piece in pieces:
        contents = check_bag(piece, inputs(config))
        lengths.append(contents.end - contents.start)
    left = 0.01 * percent * sum(lengths)
    learnt, held_out = [], []
    for piece, length in zip(pieces, lengths):
        cut = piece.begin + left
        if left > 0.0:
            learnt.append(piece if left >= length else piece._replace(end=cut))
        if left < length:
            held_out.append(piece if left <= 0.0 else piece._replace(begin=cut))
        left -= length
    return learnt, held_out
