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

"""Tables of a motion: its promise, the limits used in a dry run, the results of a campaign."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...control.excitation.trajectory import VEHICLE_COORDINATES, Trajectory
from ...model.robot import RobotModel
from .dry_run import DryRun


def presumed(robot: RobotModel, noise: np.ndarray, saved: bool, at_rest: np.ndarray | None) -> str:
    """Sentences on the noise that promises assume: saved with an estimate, else from the settings
    and not measured; at_rest (C,): from the recording of a robot at rest."""
    def listed(noise: np.ndarray) -> str:
        return ", ".join(f"{channel} {value:.2g} {unit}" for channel, value, unit in
                         zip(robot.channels, noise, robot.units))
    if saved:
        return f"Promised for the noise saved with the parameters: {listed(noise)}."
    text = f"Promised for the settings' noise, which has not been measured: {listed(noise)}."
    if at_rest is None:
        return (f"{text} That is cautious. For a best case, record the robot while it holds its "
                "position and moves its arm slowly, and give --hover RECORDING.")
    return (f"{text} At best the noise in motion is that at rest: {listed(at_rest)}. Model errors "
            "come on top: expect a deviation between the two, and restate the promise once the "
            "motion is under way (--under-way).")


def promise_table(trajectory: Trajectory) -> str:
    """Standard deviations of the free parameters before and after, most improved first."""
    promise = trajectory.promise
    assert promise is not None
    left = promise.promised / np.where(promise.present > 0, promise.present, 1.0)
    best = promise.at_best
    more = ("", "") if best is None else (" at best |", "---|")
    lines = [f"| parameter | unit | deviation now |{more[0]} promised | of it |",
             f"|---|---|---|{more[1]}---|---|"]
    lines += [f"| {promise.names[i]} | {promise.units[i]} | {promise.present[i]:.3g} | "
              + ("" if best is None else f"{best[i]:.3g} | ")
              + f"{promise.promised[i]:.3g} | {100 * left[i]:.0f} % |"
              for i in np.argsort(left, kind="stable") if promise.free[i]]
    return "\n".join(lines) + "\n"


def use_table(run: DryRun) -> str:
    """Largest share of each limit that the simulated robot used, in descending order."""
    if run.held_back:
        needs = ", ".join(f"{name} {use:.0%}" for name, use in run.held_back.items())
        return ("The motion was not flown: to hold still at its start, the simulated robot needs "
                f"{needs} of the limit, more than the whole motion may use "
                "(excitation.torque_share, .thrust_share). Learn from a recording of the robot at "
                "rest, or give a better prior.\n")
    lines = ["On the simulated robot:", "", "| limit | used | |", "|---|---|---|"]
    lines += [f"| {name} | {100 * share:.0f} % | {'touched' if share >= 1.0 else ''} |"
              for name, share in sorted(run.largest.items(), key=lambda each: -each[1])]
    if run.touched:
        rooms = list(dict.fromkeys(map(_room_of, run.touched)))
        lines += ["", f"Touched: {', '.join(run.touched)}. From a prior no controller follows a "
                  "whole motion closely: leave it more room by excitation."
                  f"{', excitation.'.join(rooms)}, or learn from a smaller motion first (smaller "
                  "excitation.tilt, .speed, .rate, .joint_speed) and design from the result "
                  "(--parameters). The node identify begins with half of these by itself."]
    return "\n".join(lines) + "\n"


def _room_of(limit: str) -> str:
    """The setting that keeps room for the controller to a limit (a key of `motion_uses`, or one of
    `effort_names`)."""
    if limit.startswith("thruster "):
        return "thrust_share"
    if limit.endswith(" effort"):
        return "torque_share"
    if limit in ("speed", "rate") or limit.endswith(" speed"):
        return "speed_margin"
    if limit in ("tilt", "yaw"):
        return "attitude_margin"
    return "position_margin" if limit in VEHICLE_COORDINATES else "joint_margin"


def campaign_table(results: list[dict[str, Any]]) -> str:
    """Number of designs, their time, and limits touched; also for second motions."""
    text = _campaign_lines(results)
    again = [{"robot": each["robot"], **each["again"]} for each in results if "again" in each]
    return text + (f"\nSecond motions, from what the first taught: {_campaign_lines(again)}"
                   if again else "")


def _campaign_lines(results: list[dict[str, Any]]) -> str:
    done = [result for result in results if "refused" not in result]
    touched = [result for result in done if result["touched"]]
    held_back = sum(bool(result.get("held_back")) for result in results)
    times = sorted(result["design_s"] for result in done) or [0.0]
    lines = [f"Motions designed for {len(done)} of {len(results)} robots, in "
             f"{times[len(times) // 2]:.1f} s (median) to {times[-1]:.1f} s of processor time; "
             f"{len(touched)} of them touched a limit. For {held_back} the first design was held "
             "back, since holding still at its start took too much effort.", "",
             "| robot | design [s] | most used | touched |", "|---|---|---|---|"]
    for result in results:
        if "refused" in result:
            lines.append(f"| {result['robot']} | | {result['refused']} | |")
            continue
        (name, share), = result["most used"].items()
        lines.append(f"| {result['robot']} | {result['design_s']:.1f} | {name} {100 * share:.0f} % "
                     f"| {', '.join(result['touched'])} |")
    return "\n".join(lines) + "\n"
