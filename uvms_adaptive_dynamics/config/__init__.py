"""Every setting of the package as frozen dataclasses, and the ROS parameter files they come from.
"""
from .estimation import SOLVER_NAMES, Estimation, Filter, Limits, Uncertainty
from .files import NODE_NAME, ROS_OWN, flatten, load_config
from .output import Output
from .robot import AUTO, Prior, Robot
from .sensors import Battery, Depth, Dvl, Imu, Joints
from .thrusters import Thrusters
from .whole import Config

__all__ = [
    "AUTO", "NODE_NAME", "ROS_OWN", "SOLVER_NAMES", "Battery", "Config", "Depth", "Dvl",
    "Estimation", "Filter", "Imu", "Joints", "Limits", "Output", "Prior", "Robot", "Thrusters",
    "Uncertainty", "flatten", "load_config"]
