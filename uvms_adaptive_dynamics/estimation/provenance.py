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

"""What an estimate has come from, beside the rows learnt in this run."""
from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..model.parameter_set import ParameterSet
from .learned_spans import LearnedSpans


class Provenance(NamedTuple):
    """prior: what the estimate started from; saved_words: where each of its values came from;
    spans: which data it has learnt from, before that and since."""

    prior: ParameterSet
    saved_words: tuple[str, ...]
    spans: LearnedSpans

    def without(self, restarted: np.ndarray, everything: bool) -> Provenance:
        """Without what the starting file says about the parameters at `restarted` (k,), which are
        estimated from the start; everything: also about its data, which were another robot's."""
        words = tuple(word if word == "frozen" or k not in restarted else "prior"
                      for k, word in enumerate(self.saved_words))
        if not everything:
            return self._replace(saved_words=words)
        return Provenance(replace(self.prior, learned={}), words, LearnedSpans())
