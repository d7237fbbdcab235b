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

"""Generates docs/faults.md from the table: `python -m uvms_adaptive_dynamics.studies.faults.page >
docs/faults.md`."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from .case import (
    COUNT_ERROR,
    NONE,
    OFFSET_ERROR,
    TOUCHES_ALL,
    TOUCHES_ARM,
    TOUCHES_VEHICLE,
    Allowed,
    Case,
)
from .judge import BACK_SECONDS, BACK_SHARE, RECOVERY_WINDOW, WRONG_BEYOND
from .recordings import LONG_SCENE, SHORT_SCENE
from .runner import FAULTS_SOLVE_EVERY, POLL
from .table import CASE_KINDS, SHORT_LOSS, table

FAULTS_PAGE_HEAD = f"""# Faults

Faults of sensors, clocks and networks: how the package handles each, and what it reports. Generated
from the table in `studies/faults/` by `python -m uvms_adaptive_dynamics.studies.faults.page`; a
test (`test_the_page_is_the_tables`) keeps both in step.

```
python -m uvms_adaptive_dynamics faults                # all of it, five to ten seconds a fault
python -m uvms_adaptive_dynamics faults --kinds clock outage --jobs 2 --output out/faults
python -m uvms_adaptive_dynamics faults --only "gyro +2" "depth clock"
python -m uvms_adaptive_dynamics faults BAG --config YAML        # in a recording of your own
```

## How a fault is judged

A recording of {LONG_SCENE.learnt:g} s goes through front end and estimator twice, clean and with
the fault; faults in the middle of the run begin at {LONG_SCENE.onset:g} s. Both estimates start
from the published prior, solve at every {FAULTS_SOLVE_EVERY}-th row, and are then tested on
{LONG_SCENE.tested:g} s of another clean recording of the same robot. With a recording of your own,
the estimator learns from its first part and is tested on the last 30 %. Each fault has some of
these limits:

- *said*: a sentence that begins with the sensor's name or one of its settings and contains what the
  column says must come within the given time of the onset. The bench looks every {POLL:g} s at the
  status of the inputs, the warnings, and the estimator's messages. A clock's seconds must be right
  to {OFFSET_ERROR:g} s.
- *other advice*: sentences about other sensors, a channel called wrong, or a change of the robot.
  None is allowed that the clean run does not have.
- *samples*, *vehicle rows*, *arm rows*: as shares of the clean run's.
- *wrong rows*: valid rows whose error under the clean run's last estimate exceeds {WRONG_BEYOND:g}
  times the channel's RMS error in the clean run, less the clean run's own such rows, as a share of
  its valid rows. Where none are allowed, {100 * NONE:g} % cover the rows at the edge of the mask.
- *back after*: from the end of the fault until each channel again has {100 * BACK_SHARE:g} % of the
  clean run's valid ticks in {BACK_SECONDS:g} s. This includes the filters' own length, half of the
  two seconds of `filter.dvl_window`.
- *RMSE after*: RMSE of prequential predictions in the {RECOVERY_WINDOW:g} s after the fault,
  relative to the clean run in the same seconds, for the worst channel.
- *loss*: R^2 on the held-out recording, the clean estimate's less this one's, for the worst channel
  that the fault does not touch.
- always: no exception, no NaN or infinity in any estimate or prediction, no estimate outside the
  physical set.

Faults with a * form the short form (`--short`: {SHORT_SCENE.learnt:g} s of data, faults at
{SHORT_SCENE.onset:g} s, losses of up to {SHORT_LOSS:g}, since so little data determine R^2 no
better), which is a test of the package (`test_short_form`).
"""

# Fault -> what keeps it red in recordings of other simulated robots, although it is green here.
OTHER_RECORDINGS = {
    "dvl says zero for 10 s":
        "If it begins while the robot rests, zero is right, so no jump shows that the DVL has "
        "failed or is back: its velocities count again after 4.9 s.",
    "dvl frozen for 3 s":
        "At 4 Hz the last new velocity may be .25 s old, and three repeats take .75 s: told "
        "after 1.1 s. Beside a vehicle that hardly moves, after 1.6 s.",
    "dvl clock 0.1 s ahead":
        "Such a delay only shows in the motion, after 30 s (in rough sea with a DVL of 4 Hz and 5 "
        "cm/s up to 41 s). The readings are then brought to their time from the start, and learnt "
        "again. Of a robot in calm water that moves at once, the rows before are wrong: 3.7 % "
        "(2 % asked); .0005 of R^2 is lost (.03 asked; .10 while it was only named).",
    "imu shaken for 10 s":
        "On a livelier robot half a minute of which a third was shaken gave a delay of .38 +- .07 "
        "s, which is wrongly advised as `thrusters.delay`.",
    "bag looped":
        "Of a robot in rough sea whose yaw is predicted with an R^2 of .36, leaving out half a "
        "second of rows moves it by .012 (.01 asked); of another, heave by .33, as between the "
        "clean run's own estimates.",
    "40% outliers in efforts":
        "Some pass the gate: 3 % of the rows are wrong, and one joint of three robots is "
        "`wrong` (.003). Of noisier efforts a quarter of the outliers is not counted.",
    "20% outliers in efforts":
        "Of a slower arm .0044 of pitch's R^2 is lost (.002 asked).",
    "dvl at 2 Hz":
        "Of a DVL that loses one velocity in twenty by itself, 83 % of the vehicle's rows count.",
    "joint_states silent for 30 s":
        "A joint that was hardly known before is `wrong` for a while afterwards, and .022 of "
        "roll's R^2 is lost.",
    "accelerometer off by .3 m/s^2 forward":
        "Put right within 2 s, but named on 7 of 23 dives only: where the IMU's attitude wanders "
        "by tenths of a degree, it looks like that. On two of them the DVL's axes are said to be "
        "rotated instead.",
    "dvl 15 % fast from then on":
        "Named within 45 s on 6 of 23 dives, since the integrated IMU only tells a scale while the "
        "vehicle accelerates.",
    "sign of an effort from then on":
        "Of a joint with little motion before, the sign is named by friction after 22 s, and not "
        "put right: .93 of that joint's R^2 is lost.",
    "accelerometer off by .3 m/s^2 upward":
        "As forward, and a bias of the gyro: found in time without a wrong row, but in rough sea "
        ".02 to .03 of yaw's R^2 of .07 is lost.",
    "a thruster gives 60 % from then on":
        "In rough sea the thruster is named after 12 to 22 s, of one robot only for one check, "
        "and .04 to .29 of yaw's or pitch's R^2 is lost.",
    "imu slips by 10 degrees in half a second":
        "What was learnt since is undone, so the second half of the recording is missing: up to "
        ".027 of R^2 (.02 asked). With a DVL of 4 Hz and 5 cm/s half a minute tells the angle to 2 "
        "degrees: of two robots in rough sea, one is named after 22 s, the other not within 45 s, "
        "and .065 and .49 of roll's R^2 is lost.",
}


def page() -> str:
    """The whole page."""
    parts, cases = [FAULTS_PAGE_HEAD], table(LONG_SCENE.onset)
    for kind, meaning in CASE_KINDS.items():
        parts.append(f"## {kind.capitalize()}: {meaning}\n\n"
                     "| fault | behaviour | sentence | limits |\n|---|---|---|---|\n"
                     + "\n".join(_rows([case for case in cases if case.kind == kind])) + "\n")
    stated = [case for case in cases if case.stated]
    parts.append("## Known shortfalls\n\nThese do not meet their limits and stay red.\n\n"
                 "| fault | why, and what happens instead |\n|---|---|\n" + "\n".join(
                     f"| {_names(list(alike))} | {text} |"
                     for text, alike in groupby(stated, lambda case: case.stated)) + "\n")
    parts.append("## Limits in other recordings\n\nOf other simulated robots, some of them in "
                 "rough sea; for each fault the largest figure.\n\n| fault | why |\n|---|---|\n"
                 + "\n".join(f"| {name} | {text} |" for name, text in OTHER_RECORDINGS.items())
                 + "\n")
    return "\n".join(parts)


def _rows(cases: Sequence[Case]) -> Iterator[str]:
    """A row for each run of cases that differ only in name and seconds."""
    for cells, alike in groupby(cases, _cells):
        yield f"| {_names(list(alike))} | {' | '.join(cells)} |"


def _cells(case: Case) -> tuple[str, ...]:
    said = "-" if case.said is None else str(
        replace(case.said, seconds=None)) + (", the seconds" if case.said.seconds else "")
    return case.behaviour, said, _limits(case)


def _names(cases: Sequence[Case]) -> str:
    """The names in sequence; the words that all begin with appear once."""
    words = [case.name.split() for case in cases]
    alike = 0
    while len(words) > 1 and all(len(name) > alike + 1 and name[alike] == words[0][alike]
                                 for name in words):
        alike += 1
    shown = [" ".join(name[alike:]) + ("*" if case.short else "")
             for name, case in zip(words, cases)]
    return " ".join([*words[0][:alike], ", ".join(shown)])


def _limits(case: Case) -> str:
    limits: Allowed = case.limits
    said = "or said" if case.or_said else "said"
    shown = {f"{said} within {{:g}} s": limits.detect if case.said else None,
             "samples {:g} %": _percent(limits.samples),
             "vehicle rows {:g} %": _percent(limits.vehicle),
             "arm rows {:g} %": _percent(limits.arm), "wrong rows {:g} %": _percent(limits.wrong),
             "back after {:g} s": limits.recover, "RMSE after {:g}": limits.rmse,
             "loss {:g}": None if case.touches == TOUCHES_ALL else limits.loss}
    parts = [text.format(limit) for text, limit in shown.items() if limit is not None]
    if case.counted:
        parts.append(f"as many rejected as wrong, to {100 * COUNT_ERROR:g} %")
    return ", ".join(parts) + (f" (loss not of the {case.touches})"
                               if case.touches in (TOUCHES_VEHICLE, TOUCHES_ARM) else "")


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


if __name__ == "__main__":
    print(page(), end="")
