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

"""Whether values of joints come in another order than their names."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .finding import Mend

ORDER_ODDS = 1000.0     # required odds of another order
ORDER = "in the order of the message's names"


def certain_order(joints: int) -> float:
    """Difference of -2 log likelihood from which another order of so many joints is certain."""
    return 2 * math.log(ORDER_ODDS * math.factorial(joints))


def order_sentence(what: str, names: Sequence[str], order: Sequence[int] | np.ndarray) -> str:
    """What to report where the value in place j is that of joint order[j]."""
    here, come = (", ".join(names[k] for k in places) for places in (range(len(names)), order))
    return (f"the {what} of {here} are those of {come}; publish them {ORDER}, which for these "
            f"{what} is [{come}]")


def reordered(first: int, order: Sequence[int] | np.ndarray) -> Mend:
    """What puts the n values from `first` on right if the one in place j is that of joint order[j].
    """
    matrix = np.zeros((len(order), len(order)))
    matrix[order, np.arange(len(order))] = 1.0
    return Mend("joint_states", first, matrix)
