"""Rejection before smoothing: what is learnt from a faulty recording predicts an unseen clean one as well."""
import numpy as np
import pytest

from frame_cases import recording
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimator import Estimator
from uvms_adaptive_dynamics.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.simulation.faults import Faults, with_faults

SECONDS = 60.0


@pytest.fixture(scope="module")
def setup():
    config = Config()
    robot = RobotModel.from_config(config)
    return config, robot, recording(1, SECONDS), recording(11, SECONDS)


def front_and_samples(config, robot, messages):
    front, samples = SignalFrontEnd(config, robot), []
    for item in messages:
        front.push(*item)
        samples += front.samples()
    return front, samples + front.flush()


def held_out(config, robot, train, test):
    """R^2 of each channel on `test`, frozen, after learning from `train`."""
    estimator = Estimator(config, perturbed(prior_from_config(config, robot), 2, 1), robot)
    for k, sample in enumerate(train):
        estimator.add(sample)
        if k % 50 == 49:
            estimator.solve()
    estimator.learn = False
    estimator.reset_horizon()
    found = [p for p in (estimator.add(s) for s in test) if p is not None]
    measured, predicted, valid = (np.array([getattr(p, name) for p in found]) for name in ("measured", "predicted", "valid"))
    measured, error = np.where(valid, measured, np.nan), np.where(valid, measured - predicted, np.nan)
    return 1 - np.nansum(error ** 2, axis=0) / np.nansum((measured - np.nanmean(measured, axis=0)) ** 2, axis=0)


def test_training_on_a_faulty_recording_is_as_good_as_on_the_clean_one(setup):
    """5 % bad efforts and DVL samples, four seconds of DVL garbage, 1 % PWM spikes: R^2 within .03 on every channel."""
    config, robot, messages, other = setup
    faults = Faults(burst_starts=(10., 22., 34., 46.))
    front, faulty = front_and_samples(config, robot, with_faults(messages, faults, 1))
    _, clean = front_and_samples(config, robot, messages)
    _, test = front_and_samples(config, robot, other)
    lost = held_out(config, robot, clean, test) - held_out(config, robot, faulty, test)
    assert lost.max() < .03, dict(zip(robot.channels, lost.round(3)))
    assert front.inputs["dvl"].rejected.total() > 40 and front.inputs["thrusters"].rejected["command spike"] > 10
    assert np.mean([s.valid[:6].all() for s in faulty]) > .85


def test_false_rejections_are_under_one_percent_and_none_lasts(setup):
    """On clean data: of the messages of each role, and never more than a few in a row."""
    config, robot, messages, _ = setup
    front, samples = front_and_samples(config, robot, messages)
    for state in front.inputs.values():
        assert state.rejected.total() < .01 * state.received, (state.role, state.rejected)
    masked = "".join("x" if not s.valid[:6].all() else "." for s in samples[100:])
    assert max(map(len, masked.split("."))) < 15
