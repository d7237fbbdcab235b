"""Online, uncertainty-aware estimation of the dynamics of underwater vehicle-manipulator robots.

The stable names of the library (DESIGN section 13) are found here; they are imported on first use, so that a node
which needs only the topic table does not load a solver.
"""
from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "Config": "config", "load_config": "config",
    "Sample": "sample",
    "Estimator": "estimator", "Estimate": "estimator",
    "ParameterSet": "parameter_files", "load_parameters": "parameter_files", "save_parameters": "parameter_files",
    "ParameterTable": "parameters", "RobotModel": "robot",
    "vehicle_regressor": "regressors",
    "ManipulatorModel": "manipulator", "Mount": "manipulator",
    "inverse_dynamics": "dynamics", "forward_dynamics": "dynamics",
    "State": "dynamics", "simulate": "forward", "Disturbance": "forward",
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
