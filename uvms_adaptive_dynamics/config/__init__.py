"""Every setting of the package as frozen dataclasses, and the ROS parameter files they come from.
"""
from .control import Feedforward
from .estimation import SOLVER_NAMES, Estimation, Filter, Limits, Uncertainty
from .excitation import Excitation
from .files import NODE_NAME, ROS_OWN, flatten, load_config
from .identification import Identification
from .live import LIVE, fixed_because
from .output import Output
from .robot import AUTO, Prior, Robot
from .sensors import Battery, Depth, Dvl, Imu, Joints
from .thrusters import Thrusters
from .twin import Twin
from .whole import Config

__all__ = [
    "AUTO", "LIVE", "NODE_NAME", "ROS_OWN", "SOLVER_NAMES", "Battery", "Config", "Depth", "Dvl",
    "Estimation", "Excitation", "Feedforward", "Filter", "Identification", "Imu", "Joints",
    "Limits", "Output", "Prior", "Robot", "Thrusters", "Twin", "Uncertainty", "fixed_because",
    "flatten", "load_config"]
