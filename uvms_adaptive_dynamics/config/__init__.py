"""Every setting of the package as frozen dataclasses, and the ROS parameter files they are read from."""
from .sections import *  # noqa: F401,F403
from .sections import NODE_NAME, Config, load_config  # noqa: F401
