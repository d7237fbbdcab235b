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

"""Arrays that users of the library pass to its functions, and that these share with them."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError, brief


def read_only(values: np.ndarray) -> np.ndarray:
    """The array itself, which cannot be written to any more."""
    values.setflags(write=False)
    return values


def is_real(numbers: np.ndarray) -> bool:
    """Whether an array holds integers or floats."""
    return numbers.dtype.kind in "fiu"


def array(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The value as floats of this shape; raises ParameterError for anything else."""
    # (of every regressor, hence checked first)
    if type(value) is np.ndarray and value.shape == shape and value.dtype == float:
        return value
    try:
        found = np.asarray(value, float)
        if found.shape == shape and not np.iscomplexobj(value):     # float() drops imaginary parts
            return found
    except (TypeError, ValueError):
        pass
    raise ParameterError(f"{name}: got {brief(value)}, expected numbers of shape {shape}.")


def optional_array(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """The same for an argument that may be None."""
    return None if value is None else array(name, value, shape)
