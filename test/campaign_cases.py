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

"""Further cases of a test that repeat its check with other numbers: run with the campaigns."""
import pytest


def also(*values):
    """The values of one case of `parametrize`, of a campaign."""
    return pytest.param(*values, marks=pytest.mark.campaign)


def first(count, cases):
    """The cases of `parametrize`, of which all but the first `count` are of a campaign."""
    return [case if k < count else also(*case) if isinstance(case, tuple) else also(case)
            for k, case in enumerate(cases)]
