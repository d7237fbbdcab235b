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

"""Online, uncertainty-aware estimation of the dynamics of underwater vehicle-manipulator robots.

The library's stable names. They are imported lazily, so that a node that needs only the topic
table does not load a solver.
"""
from importlib import import_module

PACKAGE = "uvms_adaptive_dynamics"
__version__ = "0.1.0"

_HOMES = {
    "Config": "config", "load_config": "config", "Sample": "model.sample",
    "Estimator": "estimation.estimator", "Estimate": "estimation.estimator",
    "Situation": "estimation.validity", "validity": "estimation.validity",
    "ParameterSet": "model.parameter_set", "load_parameters": "model.parameter_file",
    "save_parameters": "model.parameter_file", "ParameterTable": "model.parameters",
    "RobotModel": "model.robot", "vehicle_regressor": "model.vehicle",
    "ManipulatorModel": "model.manipulator", "Mount": "model.manipulator",
    "inverse_dynamics": "model.dynamics", "forward_dynamics": "model.dynamics",
    "State": "model.state", "mass_matrix": "model.terms", "coriolis": "model.terms",
    "damping": "model.terms", "gravity": "model.terms", "friction": "model.terms",
    "Feedforward": "control.feedforward", "simulate": "model.forward_simulation",
    "Disturbance": "model.error_covariance",
    "Identified": "export.identified", "export_as": "export.formats",
    "read_export": "export.formats", "physical_quantities": "export.physical_quantities",
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
