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

"""What the check of DVL against IMU says of 1,200 simulated minutes in which either is noisy.

    PYTHONPATH=.:test:test/signals/checks python test/signals/checks/dvl_noise.py
"""
from collections import Counter
from itertools import product

import numpy as np
from test_consistency import shaken_log

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.checks.dvl_check import check_velocity

SEEDS = 20


def main() -> None:
    """Print, for a right DVL and one that is 30 % too fast, how often which settings are named."""
    for gain in (1.0, 1.3):
        said: Counter[str] = Counter()
        for wander, size, noise in product((0.003, 0.01, 0.02, 0.03, 0.05), (0.3, 0.5, 1.0),
                                           (0.005, 0.03)):
            for seed in range(SEEDS):
                log = shaken_log(seed, gain, wander, size, noise)
                found = check_velocity({"dvl": log}, Config(), False)[0].findings
                said[", ".join(one.setting for one in found) or "nothing"] += 1
        print(f"DVL times {gain:g}:", dict(said), flush=True)


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
