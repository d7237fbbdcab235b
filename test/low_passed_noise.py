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

"""AR(1) noise behind the rows' low-pass, for the tests of the uncertainty room."""
import numpy as np

from uvms_adaptive_dynamics.config import Filter
from uvms_adaptive_dynamics.model.kernel import gaussian_kernel

PERIOD, KERNEL = .02, gaussian_kernel(Filter())


def noise(rng, count, colour, draws=1):
    """(draws, count) AR(1) noise of unit variance behind the low-pass."""
    e = rng.normal(size=(draws, count + 400)) * np.sqrt(1 - colour ** 2)
    for k in range(1, e.shape[1]):
        e[:, k] += colour * e[:, k - 1]
    low = np.array([np.convolve(row, KERNEL, "same") for row in e])[:, 200:200 + count]
    return low / np.std(low)
