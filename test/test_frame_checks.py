"""Frames, signs and units: what is set wrong is named, what is right is not (the long list: python test/frame_cases.py 10)."""
import pytest

from frame_cases import CASES, recording, warned

MINUTE = 32.0    # [s] of it are enough for the first judgement
HERE = ("imu.frame", "imu.world", "imu.frame and imu.world", "imu turned by 90", "pitch rate's sign", "force in g", "dvl.frame",
        "dvl turned by 90", "dvl turned by 45", "dvl sway's sign", "pressure in hPa", "depth's sign", "joint velocity's sign",
        "joint velocity's order", "joint position in degrees", "effort's sign", "a thruster's sign", "the thrusters' order")


@pytest.fixture(scope="module")
def messages():
    return recording(20, MINUTE)


def test_correct_recording_gives_no_warning(messages):
    """No false alarm."""
    assert warned(messages, {}, None, MINUTE) == []


@pytest.mark.parametrize("name", HERE)
def test_what_is_set_wrong_is_named(name, messages):
    """The first warning names the setting."""
    settings, change, begin = CASES[name]
    said = warned(messages, settings, change, MINUTE)
    assert said and said[0].startswith(begin), said
