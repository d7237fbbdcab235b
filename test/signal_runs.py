"""Runs of the front end on noise-free messages, which several tests share."""

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd


def make(**values):
    config = Config().with_values(
        {"thrusters.source": "wrench", **{k.replace("__", "."): v for k, v in values.items()}}
    )
    robot = RobotModel.from_config(config)
    return config, robot, prior_from_config(config, robot).values


def run(config, robot, messages, change=lambda role, message, t: (role, message, t)):
    front = SignalFrontEnd(config, robot)
    samples = []
    for item in messages:
        item = change(*item)
        if item is not None:
            front.add_message(*item)
            samples += front.samples()
    return front, samples + front.flush()


def reasons(front, channel):
    return set(front.masked[channel])
