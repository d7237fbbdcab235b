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

"""Warnings about the signals for the operator, and the status of the frame checks."""
from __future__ import annotations

from .checks.delay import DelayMonitor
from .checks.finding import Finding
from .checks.frames import STAMPS_WERE_RIGHT, FrameChecks
from .decode.input_state import OK, WARN, InputStatus

# A thruster delay alone looks like reversed or swapped thrusters.
THRUSTER_SETTINGS = ("thrusters.signs", "thrusters.allocation")
# Consequence for a sensor that was right before.
UNLEARNT = "; its rows are masked until it is right again, and what was learnt from it is undone"
MENDED = "; this is corrected, and what was learnt since is learnt again with the correction"


def signal_warnings(inputs: list[str], frames: FrameChecks, delay: DelayMonitor,
                    motion: list[str], dvl_gate_restarts: int) -> list[str]:
    """Sentences that begin with the setting to change, or with the sensor; empty if all is well.

    `inputs`: sentences about clocks, rates and attitude, which come first; `motion`: that the
    specific force has diverged from the DVL's velocity, or the attitude from the gyro by it. A
    wrong frame also causes those, a delay and rejections by the DVL gate, so these are reported
    only if no frame is wrong; those of the gate only after the first check.
    """
    delay_warning = delay.warning
    warnings = [
        f"{finding.setting}: {finding.sentence} ({_when(since, frames, finding.setting)})"
        + _consequence(finding, frames)
        for finding, since in frames.findings
        if not (delay_warning and finding.setting in THRUSTER_SETTINGS)]
    if delay_warning and not warnings:
        warnings.append(delay_warning)
    if dvl_gate_restarts and not warnings and frames.has_checked:
        times = "once" if dvl_gate_restarts == 1 else f"{dvl_gate_restarts} times"
        warnings.append(
            "dvl: velocities contradicted the IMU for seconds but agreed with each other, and were "
            f"finally accepted ({times}); check the bottom lock and the IMU's attitude")
    if frames.failed:
        warnings.append(f"frames: {frames.failed}")
    if any(STAMPS_WERE_RIGHT in finding.sentence for finding, _ in frames.findings):
        inputs = [text for text in inputs if not text.startswith("dvl: its clock")]
    turned = any(finding.setting.startswith(("imu", "dvl")) for finding, _ in frames.findings)
    return [*inputs, *([] if turned else motion), *warnings]


def _consequence(finding: Finding, frames: FrameChecks) -> str:
    if frames.is_mended(finding):
        return MENDED
    return UNLEARNT if frames.has_changed(finding.setting) else ""


def _when(since: float, frames: FrameChecks, setting: str) -> str:
    """When a mismatch was found and, if a check before found none, the time of the last such one.
    """
    before = frames.consistent_at(setting)
    return f"found {since:.0f} s after the start" + (
        "" if before is None else f", not yet at {before:.0f} s")


def frames_status(warnings: list[str], waiting_for: list[str]) -> InputStatus:
    """The status `frames`: the first warning, or the checks that still lack motion. Warnings about
    an input's clock are left to that input's status."""
    warnings = [text for text in warnings if not text.partition(": ")[2].startswith("its clock")]
    waiting = ", ".join(waiting_for)
    figures = {f"warning {k + 1}": text for k, text in enumerate(warnings)}
    figures["not checked yet"] = waiting or "nothing"
    if warnings:
        return InputStatus(WARN, "frames", warnings[0], figures)
    if waiting:
        return InputStatus(OK, "frames", f"not enough motion yet to check {waiting}; "
                                         "move the robot on all axes", figures)
    return InputStatus(OK, "frames", "frames, signs and units are consistent", figures)
