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

"""Faults of a message's content: the numbers of a named field, or its structure."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from .stream import Fault, Received

# Numeric fields: the role whose messages have them, and the path to them.
FIELD_PATHS = {
    "gyro": ("imu", "angular_velocity"),
    "accelerometer": ("imu", "linear_acceleration"),
    "orientation": ("imu", "orientation"),
    "velocity": ("dvl", "twist.twist.linear"),
    "pressure": ("depth", "fluid_pressure"),
    "position": ("joint_states", "position"),
    "speed": ("joint_states", "velocity"),
    "effort": ("joint_states", "effort"),
    "commands": ("thrusters", "data"),
    "voltage": ("battery", "voltage"),
}
ValueChange = Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class FieldFault(Fault):
    """A fault of the numbers of one field, defined by `spoiled_values`."""

    field: str = ""

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        values = self.spoiled_values(field_of(item.message, self.field), elapsed, rng, memory)
        yield item._replace(message=with_field(item.message, self.field, values))

    def spoiled_values(self, values: np.ndarray, elapsed: float, rng: np.random.Generator,
                       memory: dict[str, Any]) -> np.ndarray:
        """(k,) replacements of the numbers (k,), which must not be modified; other arguments as in
        `Fault.spoiled`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Altered(FieldFault):
    """Applies `change` to the numbers (k,) of a field."""

    change: ValueChange = lambda values, rng: values

    def spoiled_values(self, values: np.ndarray, elapsed: float, rng: np.random.Generator,
                       memory: dict[str, Any]) -> np.ndarray:
        return self.change(values.copy(), rng)


@dataclass(frozen=True)
class Rewritten(Fault):
    """Replaces the message by a copy that `change` modifies in place."""

    change: Callable[[Any], None] = lambda message: None

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        message = copy.deepcopy(item.message)
        self.change(message)
        yield item._replace(message=message)


@dataclass(frozen=True)
class Drifting(FieldFault):
    """Applies `change` to the numbers (k,) of a field and the seconds since the fault began."""

    change: Callable[[np.ndarray, float], np.ndarray] = lambda values, seconds: values

    def spoiled_values(self, values: np.ndarray, elapsed: float, rng: np.random.Generator,
                       memory: dict[str, Any]) -> np.ndarray:
        return self.change(values.copy(), elapsed - self.begin)


@dataclass(frozen=True)
class LaggingField(FieldFault):
    """The numbers of a field are those from `lag` [s] ago."""

    lag: float = 0.1

    def spoiled_values(self, values: np.ndarray, elapsed: float, rng: np.random.Generator,
                       memory: dict[str, Any]) -> np.ndarray:
        past = memory.setdefault("past", [])
        past.append((elapsed, values))
        while len(past) > 1 and past[1][0] <= elapsed - self.lag:
            del past[0]
        return past[0][1]


@dataclass(frozen=True)
class Coasting(FieldFault):
    """The numbers of a field decay from those at the beginning with time constant `time` [s]."""

    time: float = 1.0

    def spoiled_values(self, values: np.ndarray, elapsed: float, rng: np.random.Generator,
                       memory: dict[str, Any]) -> np.ndarray:
        return memory.setdefault("first", values) * np.exp((self.begin - elapsed) / self.time)


@dataclass(frozen=True)
class InWorld(Fault):
    """Applies `change` to the DVL's velocity (3,) and R_wb (3, 3), the IMU's latest orientation."""

    change: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda velocity, R_wb: velocity

    def concerns(self, item: Received, elapsed: float) -> bool:
        return item.role == "imu" or super().concerns(item, elapsed)

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        if item.role == "imu":
            memory["orientation"] = field_of(item.message, "orientation")
        elif "orientation" in memory:
            R_wb = pin.Quaternion(memory["orientation"]).matrix()
            velocity = self.change(field_of(item.message, "velocity"), R_wb)
            item = item._replace(message=with_field(item.message, "velocity", velocity))
        yield item


def altered(field: str, change: ValueChange, begin: float = 0.0, end: float = np.inf) -> Altered:
    """The fault `Altered` for the role that has the field."""
    return Altered(FIELD_PATHS[field][0], begin, end, field, change)


# --- fields ---------------------------------------------------------------------------------------

def has_field(message: Any, field: str) -> bool:
    """True if the message has the field."""
    return hasattr(message, _way(message, field)[0])


def field_of(message: Any, field: str) -> np.ndarray:
    """(k,) the numbers of a field."""
    for part in _way(message, field):
        message = getattr(message, part)
    if hasattr(message, "x"):
        message = [getattr(message, axis) for axis in _axes(message)]
    return np.atleast_1d(np.asarray(message, float))


def with_field(message: Any, field: str, values: np.ndarray) -> Any:
    """A copy of the message with the numbers (k,) in a field."""
    return _replaced(message, _way(message, field), values)


def _way(message: Any, field: str) -> list[str]:
    # In mavros_msgs/RCOut the commands are called 'channels'.
    path = FIELD_PATHS[field][1]
    return ["channels"] if path == "data" and hasattr(message, "channels") else path.split(".")


def _replaced(part: Any, way: Sequence[str], values: np.ndarray) -> Any:
    if way:
        found = copy.copy(part)
        setattr(found, way[0], _replaced(getattr(part, way[0]), way[1:], values))
        return found
    if hasattr(part, "x"):
        found = copy.copy(part)
        for axis, value in zip(_axes(part), values.tolist()):
            setattr(found, axis, value)
        return found
    return np.asarray(values) if np.ndim(part) else float(values[0])


def _axes(part: Any) -> str:
    return "xyzw" if hasattr(part, "w") else "xyz"


# --- changes of numbers ---------------------------------------------------------------------------

def plus(*amounts: float) -> ValueChange:
    """Add an offset, one for all numbers or one for each."""
    return lambda values, rng: values + np.array(amounts)


def times(*factors: float) -> ValueChange:
    """Scale, as by a wrong unit or sign."""
    return lambda values, rng: values * np.array(factors)


def filled(value: float) -> ValueChange:
    """Set all numbers to one value."""
    return lambda values, rng: np.full_like(values, value)


def reordered(*places: int) -> ValueChange:
    """Reorder: the number at places[0] comes first."""
    return lambda values, rng: values[list(places)]


def huge(size: float) -> ValueChange:
    """Replace by finite random numbers up to +- `size`."""
    return lambda values, rng: size * rng.uniform(-1.0, 1.0, values.size)


def rolled(shift: int) -> ValueChange:
    """Rotate the order by `shift`, for any number of values."""
    return lambda values, rng: np.roll(values, shift)


def swapped(a: int, b: int) -> ValueChange:
    """Exchange two numbers."""
    def changed(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        values[[a, b]] = values[[b, a]]
        return values
    return changed


def without_dead_zone(zone: float, neutral: float) -> ValueChange:
    """Commands larger than those that act by `zone`, as if logged before a dead zone of the motors
    takes effect."""
    return lambda values, rng: values + zone * np.sign(values - neutral)


def cut_below(size: float) -> ValueChange:
    """Numbers smaller than `size` read zero."""
    return lambda values, rng: np.where(np.abs(values) < size, 0.0, values)


def one_of(place: int, change: ValueChange) -> ValueChange:
    """Apply `change` to one number only, the last one if there are fewer."""
    def changed(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        k = min(place, values.size - 1)
        values[k] = change(values[k:k + 1], rng)[0]
        return values
    return changed


def at_times(share: float, change: ValueChange) -> ValueChange:
    """Apply `change` to each number with probability `share`."""
    def changed(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        wrong = rng.random(values.size) < share
        return np.where(wrong, change(values.copy(), rng), values)
    return changed


def rotated(angle: float, axis: Sequence[float]) -> ValueChange:
    """Rotate a quaternion x y z w by `angle` [rad] about an axis (3,) of the sensor."""
    x, y, z = np.sin(angle / 2) * np.array(axis, float) / np.linalg.norm(axis)
    w = float(np.cos(angle / 2))
    right = np.array([[w, z, -y, x], [-z, w, x, y], [y, -x, w, z], [-x, -y, -z, w]])
    return lambda values, rng: right @ values


def headed(angle: float) -> ValueChange:
    """Rotate a quaternion x y z w by `angle` [rad] about the world's vertical."""
    z, w = np.sin(angle / 2), np.cos(angle / 2)
    left = np.array([[w, -z, 0, 0], [z, w, 0, 0], [0, 0, w, z], [0, 0, -z, w]])
    return lambda values, rng: left @ values


def rounded(step: float) -> ValueChange:
    """Round to multiples of `step`, like a coarse sensor."""
    return lambda values, rng: step * np.round(values / step)


def clipped(limit: float) -> ValueChange:
    """Clip to +- limit."""
    return lambda values, rng: np.clip(values, -limit, limit)


def sometimes(share: float, change: ValueChange) -> ValueChange:
    """Apply `change` to all numbers of a message together, with probability `share`."""
    return lambda values, rng: change(values, rng) if rng.random() < share else values
