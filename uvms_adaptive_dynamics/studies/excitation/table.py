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

"""Tables of a motion: what it promises, what a dry run used, what a campaign found."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...control.excitation.trajectory import Trajectory
from ...model.robot import RobotModel
from .dry_run import DryRun


def presumed(robot: RobotModel, noise: np.ndarray, saved: bool, at_rest: np.ndarray | None) -> str:
    """The noise that promises presume, in sentences: saved with an estimate, else that of the
    settings, which nobody has measured; at_rest (C,): of the recording of a robot at rest."""
    def listed(noise: np.ndarray) -> str:
        return ", ".join(f"{channel} {value:.2g} {unit}" for channel, value, unit in
                         zip(robot.channels, noise, robot.units))
    if saved:
        return f"Promised for the noise that came with the parameters: {listed(noise)}."
    text = f"Promised for the settings' noise, which nobody has measured: {listed(noise)}."
    if at_rest is None:
        return (f"{text} That is cautious. Record the robot while it holds its place and moves its "
                "arm slowly, and give --hover RECORDING: then it is said what to hope for.")
    return (f"{text} At best the robot keeps in motion the noise that it has at rest: "
            f"{listed(at_rest)}. What the model lacks comes on top: expect a deviation between the "
            "two, and see what is promised once the motion is under way (--under-way).")


def promise_table(trajectory: Trajectory) -> str:
    """Deviations before and after of the free parameters, those that gain most first."""
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
    """Largest share of each limit that the simulated robot used, the largest first."""
    if run.held_back:
        needs = ", ".join(f"{name} {use:.0%}" for name, use in run.held_back.items())
        return ("The simulated robot needs more to hold still where the motion starts than is left "
                f"to the motion ({needs} of its limit; excitation.torque_share, .thrust_share): it "
                "was not flown. Learn from a recording of the robot at rest, or give a better "
                "prior.\n")
    lines = ["On the simulated robot:", "", "| limit | used | |", "|---|---|---|"]
    lines += [f"| {name} | {100 * share:.0f} % | {'touched' if share >= 1.0 else ''} |"
              for name, share in sorted(run.largest.items(), key=lambda each: -each[1])]
    return "\n".join(lines) + "\n"


def campaign_table(results: list[dict[str, Any]]) -> str:
    """How many were designed, in what time, and what was touched; of second motions as well."""
    text = _campaign_lines(results)
    again = [{"robot": each["robot"], **each["again"]} for each in results if "again" in each]
    return text + (f"\nSecond motions, from what the first told: {_campaign_lines(again)}"
                   if again else "")


def _campaign_lines(results: list[dict[str, Any]]) -> str:
    done = [result for result in results if "refused" not in result]
    touched = [result for result in done if result["touched"]]
    held_back = sum(bool(result.get("held_back")) for result in results)
    times = sorted(result["design_s"] for result in done) or [0.0]
    lines = [f"{len(done)} of {len(results)} robots designed for, in "
             f"{times[len(times) // 2]:.1f} s (median) to {times[-1]:.1f} s of processor time; a "
             f"limit touched on "
             f"{len(touched)} of them. On {held_back} a first design was held back at its start, "
             "where the robot needed too much to hold still.", "",
             "| robot | design [s] | most used | touched |", "|---|---|---|---|"]
    for result in results:
        if "refused" in result:
            lines.append(f"| {result['robot']} | | {result['refused']} | |")
            continue
        (name, share), = result["most used"].items()
        lines.append(f"| {result['robot']} | {result['design_s']:.1f} | {name} {100 * share:.0f} % "
                     f"| {', '.join(result['touched'])} |")
    return "\n".join(lines) + "\n"
