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

"""Effect on the estimator when an operator reports that the arm grips or releases something
(docs/payload.md)."""
from __future__ import annotations

from ..errors import UvmsError
from .accepted_change import PartChange, Restoration
from .estimator import Estimator


def note_grip(estimator: Estimator, name: str = "") -> str:
    """Note that the last link now grips something called `name`; returns a sentence about what was
    done.

    The link's parameters are re-estimated, as after a detected change; if something is already
    held, it is only renamed. Raises UvmsError without an arm or without data.
    """
    tracker, t = estimator.payload, estimator.last_t
    if not tracker.places.size:
        raise UvmsError("the robot has no arm to hold anything; expected joints in robot.joints")
    if t is None:
        raise UvmsError("no sample has arrived yet; report the grip again once data arrive")
    if tracker.held:
        tracker.rename(name)
        return (f"Something has already been held for {t - tracker.since:.0f} s; it is now named "
                f"'{tracker.name}'.")
    pi, covariance = estimator.pi, estimator.covariance
    if (estimator.learn and estimator.information.follows_changes
            and estimator.free[tracker.places].any()):
        joint = estimator.table.joints[-1]
        estimator.follow(PartChange(f"{joint} link", 0, estimator.information.noise_record(),
                                    tracker.places, "reported by the operator"), t)
    if not tracker.held:        # without learning, the link's parameters stay
        tracker.begin(t, pi, covariance, None)
    tracker.rename(name)
    then = ("Move the arm so that its mass and position can be estimated." if estimator.learn else
            "Nothing is estimated while learning is off (~/enable), not even its mass.")
    return f"'{tracker.name}' is held from now on. {then}"


def note_release(estimator: Estimator) -> str:
    """Note that the last link has released what it held; returns a sentence about what was done.
    While learning is off, the parameters stay. Raises UvmsError if nothing was held."""
    tracker, t = estimator.payload, estimator.last_t
    if not tracker.held or t is None:
        raise UvmsError("nothing to release: no grip has been detected or reported")
    name, known = tracker.name, tracker.known
    restored = ""
    if known is not None and not estimator.learn:
        restored = "; parameters are held while learning is off, so they still contain it"
    elif known is not None:
        estimator.follow(Restoration(known.part, 0, known.information.noise, known), t)
        restored = "; what was known before the grip is restored"
    tracker.end()
    return f"'{name}' is no longer held{restored}."
