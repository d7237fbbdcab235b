"""Faults of drivers over real ROS 2: some of those of test/live_faults.py, each for a few seconds.

All of them: `python test/live_faults.py`.
"""
import pytest
from live_faults import FAULTS, first, run, verdict

# [s] from the fault until it is said: a timeout of 1 s, ten messages, or two looks, and a second.
WITHIN = {"silence": 2.5, "NaN": 1.5, "two publishers": 2.5}


@pytest.mark.parametrize("name", WITHIN)
def test_a_fault_is_said_and_so_is_its_end(name):
    """In the log, in time; the input's diagnostic leaves OK; samples go on."""
    fault = FAULTS[name]._replace(duration=4.0)
    heard, samples = run(fault, healthy=3.0, recovery=3.0)
    good, sentence = verdict(fault, heard)
    assert good, (sentence, heard.log)
    # one second more for a loaded computer
    assert 0.0 < first(heard.log, fault.said) < WITHIN[name] + 1.0
    assert any(at > 0.0 and text.startswith(("input imu: WARN", "input imu: ERROR"))
               for at, text in heard.diagnostics)
    assert samples[2] > 50, samples
