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

"""Check of the types in a parameter set that a user of the library made."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import require
from .arguments import array

BY_PARAMETER = ("systematic", "intervals")      # with a column for each parameter
ARRAYS = ("covariance", "noise_stddev", "row_noise_stddev", "residual_products", "information",
          "gradient", "gradient_covariance", *BY_PARAMETER)


def check_kinds(found: Any, what: str) -> None:
    """Raise ParameterError if a user has made the set of parts of the wrong kind or shape."""
    for name in ("names", "known_from"):
        words = getattr(found, name)
        require(f"{what}: {name}", words, (tuple, list), expected="a tuple of names")
        for word in words:
            require(f"{what}: {name}", word, str, expected="a tuple of names")
    for name in ("robot", "identifiability", "learned"):
        require(f"{what}: {name}", getattr(found, name), Mapping)
    for name in ("source", "version"):
        require(f"{what}: {name}", getattr(found, name), str, expected="a text")
    array(f"{what}: values", found.values, (len(found.names),))
    for name in ARRAYS:
        value = getattr(found, name)
        if value is not None:
            require(f"{what}: {name}", value, np.ndarray, expected="a numpy array")
            if name in BY_PARAMETER:
                array(f"{what}: {name}", value, (len(value) if value.ndim else 0,
                                                 len(found.names)))
