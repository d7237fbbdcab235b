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

"""Whether a consumer may rely on the published parameters now, and if not, why (docs/validity.md).
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import require
from ..model.arguments import array
from ..model.sample import LEFT_OUT
from ..uncertainty.trust import TRUST_STATES, TRUST_WRONG
from .snapshot import EstimatorSnapshot

WAITING, LEARNING, HOLDING, FROZEN, FAILED = VALIDITY_STATES = (
    "waiting", "learning", "holding", "frozen", "failed")

# [s] without a tick, a learnt row or a solve after which they count as missing: longer than the
# front end delays ticks for a slow sensor, and than rows count after a motion has ended.
NONE_FOR = 2.0
# Failed solves, or lost samples, in a row that count as failure: the number after which the
# estimator drops the data behind them. Fewer are single bad rows, which cost a fifth of a second.
FAILED_IN_A_ROW = 10


@dataclass(frozen=True)
class Situation:
    """The facts that determine validity at one moment.

    alive: whether the estimator's thread runs; learn: whether it may learn; finite: whether values
    and deviations are finite; saved: whether they come from a saved estimate with a covariance;
    judged: whether residuals have been judged since the values last jumped; wrong: channels whose
    residuals contradict the model; failed_solves, lost_samples: in a row, up to now; stuck [s]: how
    long the estimator has worked on one sample. Ages [s], inf before the first: tick_age: of the
    newest tick; row_age (C,): of the newest learnt row of each of `channels`; solve_age: data
    learnt since the newest successful solve. left_out: channels that are not judged;
    again: whether that sample comes with earlier ones to be learnt again.
    """

    channels: Sequence[str]
    row_age: np.ndarray
    tick_age: float
    solve_age: float
    alive: bool = True
    learn: bool = True
    finite: bool = True
    saved: bool = False
    judged: bool = True
    wrong: Sequence[str] = ()
    failed_solves: int = 0
    lost_samples: int = 0
    stuck: float = 0.0
    left_out: Sequence[str] = ()
    again: bool = False

    @classmethod
    def of(cls, snapshot: EstimatorSnapshot, channels: Sequence[str], tick_age: float,
           alive: bool = True, lost_samples: int = 0, stuck: float = 0.0,
           again: bool = False) -> Situation:
        """The situation of an estimator with this snapshot, `tick_age` [s] after its newest tick;
        only a node knows the other arguments, which describe its thread."""
        progress, parameters = snapshot.progress, snapshot.parameters
        # The snapshot's ages are as of the newest tick, if there was one.
        row_age = progress.row_age + (tick_age if np.isfinite(tick_age) else 0.0)
        finite = np.isfinite(parameters.pi).all() and np.isfinite(parameters.stddev).all()
        trust = list(zip(channels, snapshot.trust))
        return cls(
            channels, row_age, tick_age, progress.solve_age, alive=alive, learn=snapshot.learn,
            finite=bool(finite), saved=snapshot.started_from_file, judged=snapshot.judged,
            wrong=[channel for channel, level in trust if level == TRUST_STATES[TRUST_WRONG]],
            failed_solves=progress.failed_in_a_row, lost_samples=lost_samples, stuck=stuck,
            left_out=[channel for channel, level in trust if level in LEFT_OUT], again=again)


class Validity(NamedTuple):
    """state: one of VALIDITY_STATES; trusted: whether a consumer should prefer the values to what
    it would use without them; reason: a sentence on both."""

    state: str
    trusted: bool
    reason: str


def validity(now: Situation) -> Validity:
    """State, trust and reason of the present parameters."""
    require("now", now, Situation)
    require("channels", now.channels, Sequence)
    for name, value, shape in (("row_age", now.row_age, (len(now.channels),)),
                               ("tick_age", now.tick_age, ()), ("solve_age", now.solve_age, ())):
        array(name, value, shape)
    state, reason = _state(now)
    doubt = "" if state in (WAITING, FAILED) else _doubt(now)
    trusted = state not in (WAITING, FAILED) and not doubt
    return Validity(state, trusted, "; ".join(filter(None, (reason, doubt))))


def _state(now: Situation) -> tuple[str, str]:
    failure = _failure(now)
    if failure:
        return FAILED, f"{failure}; the values are those of the last good solve"
    if not now.learn:
        return FROZEN, "learning is off; the values are kept"
    if np.isinf(now.solve_age):
        return WAITING, ("no estimate yet; the values are those of "
                         + ("the saved estimate" if now.saved else "the prior"))
    if now.again:
        return HOLDING, ("what a faulty sensor has spoilt is learnt again from the last minute's "
                         "readings, the values are kept")
    if now.tick_age > NONE_FOR:
        return HOLDING, f"no sample for {now.tick_age:.1f} s; the values are kept"
    newest = now.row_age.min()
    if newest > NONE_FOR:
        since = f"for {newest:.1f} s" if np.isfinite(newest) else "yet"
        return HOLDING, (f"nothing learnt on any channel {since} (robot at rest, or rows masked); "
                         "the values are kept")
    old = [channel for channel, age in zip(now.channels, now.row_age.tolist())
           if age > NONE_FOR and channel not in now.left_out]
    return LEARNING, f"nothing learnt lately on {', '.join(old)}" if old else "all channels learn"


def _failure(now: Situation) -> str:
    """Why no solve can be expected any more; '' if one can."""
    if not now.alive:
        return "the estimator's thread has ended: restart the node"
    if now.lost_samples >= FAILED_IN_A_ROW:
        return f"the last {now.lost_samples} samples were lost to an internal error"
    if now.learn and now.failed_solves >= FAILED_IN_A_ROW:
        return f"the last {now.failed_solves} solves failed"
    if not now.finite:
        return "values or deviations are not finite"
    if now.stuck > NONE_FOR and not now.again:
        return f"the estimator has worked on one sample for {now.stuck:.1f} s"
    if now.learn and NONE_FOR < now.solve_age < np.inf:
        return f"samples arrive, but no solve has succeeded for {now.solve_age:.1f} s"
    return ""


def _doubt(now: Situation) -> str:
    """Why the values of a working estimator are not trusted; '' if they are."""
    if now.again:
        return "not trusted until then"
    if now.wrong:
        return f"not trusted: the model is wrong on {', '.join(now.wrong)}"
    if now.tick_age > NONE_FOR:
        return "not trusted: nothing shows whether they still hold"
    if np.isinf(now.solve_age) and not now.saved:
        return "not trusted: they are the prior's"
    if not now.judged:
        return "not trusted yet: their predictions have not been judged"
    return ""
