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

"""Process of the estimator node: `ros2 run uvms_adaptive_dynamics estimator`."""
from __future__ import annotations

import os
import sys

from ..programs import begin_imports

if __name__ == "__main__":
    begin_imports()

# Before numpy is imported: for our 75 x 75 matrices BLAS threads cost more than they gain.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from ..config import NODE_NAME
from .estimator_node import EstimatorNode
from .process import node_parser, run_node


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns 0, or 1 after an error message."""
    return run_node(args, EstimatorNode, node_parser(
        "estimator", NODE_NAME, "Online estimation of dynamics parameters"), NODE_NAME)


if __name__ == "__main__":
    sys.exit(main())
