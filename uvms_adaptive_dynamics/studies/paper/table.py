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

"""The paper's table: figures per channel and model, mean over trials."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...model.metrics import shown

PAPER_METRICS = ("r2", "slope", "mse", "mae", "rmse", "signed", "coverage95", "interval_width",
                 "nll")
FIGURE_COLUMNS = (("R^2", "r2", ".3f"), ("slope", "slope", ".3f"), ("MSE", "mse", ".3g"),
                  ("MAE", "mae", ".3g"), ("RMSE", "rmse", ".3g"), ("signed", "signed", "+.2g"),
                  ("cover", "coverage95", ".1%"), ("width", "interval_width", ".3g"),
                  ("NLL", "nll", ".2f"))

Figures = Mapping[str, Mapping[str, Mapping[str, Any]]]


def mean_over(trials: Sequence[Figures]) -> dict[str, dict[str, dict[str, Any]]]:
    """{model: {channel: {unit, trials, mean of each figure over the trials that have it}}}."""
    return {model: {channel: _mean([trial[model][channel] for trial in trials])
                    for channel in channels} for model, channels in trials[0].items()}


def _mean(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    mean: dict[str, Any] = {"unit": found[0]["unit"], "trials": sum(one["n"] > 0 for one in found)}
    for key in PAPER_METRICS:
        values = [one[key] for one in found if one[key] is not None]
        mean[key] = float(np.mean(values)) if values else None
    return mean


def table(means: Figures) -> str:
    """One line per channel and model. The prior has no intervals."""
    wide = 2 + max(map(len, means))
    lines = [f"{'channel':<14}{'model':<{wide}}"
             + "".join(f"{name:>10}" for name, _, _ in FIGURE_COLUMNS)]
    for channel in next(iter(means.values())):
        for k, (model, channels) in enumerate(means.items()):
            c = channels[channel]
            label = f"{channel} [{c['unit']}]" if k == 0 else ""
            lines.append(f"{label:<14}{model:<{wide}}" + "".join(
                f"{_cell(model, c, key, form):>10}" for _, key, form in FIGURE_COLUMNS))
    return "\n".join(lines)


def _cell(model: str, channel: Mapping[str, Any], key: str, form: str) -> str:
    if model == "prior" and key in ("coverage95", "interval_width", "nll"):
        return "-"
    return shown(channel[key], form)
