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

"""Checks that a parameter set can be used: its numbers, and the robot it belongs to. `found` is a
`ParameterSet`, whose module imports this one."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError, brief
from .arguments import is_real
from .covariance import INDEFINITE
from .parameter_kinds import check_kinds
from .parameters import ParameterTable
from .sample import channel_names
from .scales import check_scales

# No real parameter [SI] or noise [N, N m] lies beyond these; its square would overflow, or
# underflow into a zero divisor.
LARGEST_PARAMETER = 1e12
LEAST_SAVED_NOISE, MOST_SAVED_NOISE = 1e-9, 1e9

# Deviations below this share of the largest one are rounding, and are not scaled up to one.
NEGLIGIBLE_STDDEV = 1e-9

# flags of a parameter, from least to best known; the last has no order
KNOWN_FROM_WORDS = ("prior", "weak", "measured", "frozen")
LARGEST_ROW_COUNT = 10 ** 12    # behind an estimate: decades of data

SAVE_AGAIN = "Save the parameters again"
WITHOUT_COVARIANCE = (f"{SAVE_AGAIN}, or delete 'covariance_lower_triangle' to start from "
                      "estimation.prior_stddev.")


def check_numbers(found: Any, what: str, channels: int | None = None) -> None:
    """Raise ParameterError if names, values, covariance or noise cannot be used.

    channels: number of channels of the robot; None: as stated by the set itself, if it does.
    """
    check_kinds(found, what)
    _check_values(found, what)
    if found.known_from and len(found.known_from) != len(found.names):
        raise ParameterError(f"{what}: known_from has {len(found.known_from)} words, expected "
                             f"{len(found.names)}, one for each parameter. {SAVE_AGAIN}.")
    for name, word in zip(found.names, found.known_from):
        if word not in KNOWN_FROM_WORDS:
            raise ParameterError(f"{what}: known_from of {brief(name)} is {brief(word)}; expected "
                                 f"one of {', '.join(KNOWN_FROM_WORDS)}. Correct it, or delete "
                                 "'known_from'.")
    if found.covariance is not None:
        _check_covariance(np.asarray(found.covariance), found.names, what)
    if found.information is not None or found.gradient is not None:
        _check_information(found, what)
    if found.gradient_covariance is not None:
        _check_gradient_covariance(np.asarray(found.gradient_covariance), len(found.names), what)
    check_scales(found.learned, what)
    rows = found.learned.get("rows")
    if type(rows) is int and rows > LARGEST_ROW_COUNT:
        raise ParameterError(f"{what}: rows under learned is {brief(rows)}; expected a number up "
                             f"to {LARGEST_ROW_COUNT:g}. {SAVE_AGAIN}, or delete it.")
    if found.systematic is not None and not (np.abs(found.systematic) <= LARGEST_PARAMETER).all():
        raise ParameterError(f"{what}: systematic has entries that are not finite or too large; "
                             f"expected numbers of size up to {LARGEST_PARAMETER:g}. {SAVE_AGAIN}, "
                             "or delete it.")
    stated = _stated_channels(found.robot, what)
    if found.residual_products is not None:
        _check_residual_products(np.asarray(found.residual_products), channels, what)
    if found.noise_stddev is not None:
        _check_noise("noise_stddev", np.asarray(found.noise_stddev), stated, channels, what)
    if found.row_noise_stddev is not None:
        _check_noise("row_noise_stddev", np.asarray(found.row_noise_stddev), stated, channels, what)


def check_robot(found: Any, table: ParameterTable, what: str) -> None:
    """Raise ParameterError if the set belongs to another robot; entries that it does not state, as
    in hand-written files, are not checked."""
    own = {"joints": list(table.joints), "vehicle": table.vehicle,
           "channels": list(channel_names(table.vehicle, table.joints))}
    _stated_channels(found.robot, what)
    for key, expected in own.items():
        got = found.robot.get(key)
        if got is not None and (list(got) if key != "vehicle" else got) != expected:
            raise ParameterError(
                f"{what} belongs to another robot: its {key} {_words(got)}, expected "
                f"{_words(expected)}. Give this robot's file, or correct robot.joints and "
                "robot.vehicle in the settings.")
    unknown = [name for name in found.names if name not in table.index]
    missing = [name for name in table.names if name not in found.names]
    if unknown or missing:
        parts = [f"unknown to this robot: {brief(', '.join(unknown[:3]))[1:-1]}"] if unknown else []
        parts += [f"missing: {', '.join(missing[:3])}"] if missing else []
        raise ParameterError(
            f"{what}: got {len(found.names)} parameters, expected the {table.size} of this robot "
            f"({'; '.join(parts)}). Give a file of this robot, use the settings that it was learnt "
            "with (robot.terms, robot.estimate_offsets), or complete the mapping.")


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"({brief(', '.join(map(str, value)))[1:-1]})"


def _stated_channels(robot: Any, what: str) -> list[str] | None:
    """The channel names that the set states, directly or by its joints; None if it states none."""
    for key in ("joints", "channels"):
        names = robot.get(key)
        if names is not None and not (isinstance(names, (list, tuple))
                                      and all(isinstance(name, str) for name in names)):
            raise ParameterError(f"{what}: robot.{key} is {brief(names)}; expected a list of "
                                 f"names. {SAVE_AGAIN}, or delete the entry.")
    vehicle = robot.get("vehicle")
    if vehicle is not None and not isinstance(vehicle, (bool, np.bool_)):
        raise ParameterError(f"{what}: robot.vehicle is {brief(vehicle)}; expected true or false. "
                             f"{SAVE_AGAIN}, or delete the entry.")
    if robot.get("channels") is not None:
        return list(robot["channels"])
    if robot.get("joints") is not None and vehicle is not None:
        return list(channel_names(bool(vehicle), tuple(robot["joints"])))
    return None


def _check_values(found: Any, what: str) -> None:
    if len(set(found.names)) != len(found.names):
        double = next(name for name in found.names if found.names.count(name) > 1)
        raise ParameterError(f"{what}: parameter {brief(double)} occurs twice; expected each once. "
                             "Delete one of them.")
    values = np.asarray(found.values)
    if not is_real(values):
        raise ParameterError(f"{what}: values are of type {values.dtype}, expected real numbers.")
    usable = np.abs(values) <= LARGEST_PARAMETER  # false for NaN
    if not usable.all():
        place = int(np.argmin(usable))
        kind = "" if np.isfinite(values[place]) else ", which is not finite"
        raise ParameterError(f"{what}: {brief(found.names[place])} is {values[place]:g}{kind}; "
                             f"expected a number of size up to {LARGEST_PARAMETER:g}. Correct it, "
                             "or save again.")


def _check_covariance(covariance: np.ndarray, names: tuple[str, ...], what: str) -> None:
    size = len(names)
    if covariance.shape != (size, size) or not is_real(covariance):
        raise ParameterError(f"{what}: covariance has shape {covariance.shape} "
                             f"({covariance.dtype}), expected ({size}, {size}) real numbers. "
                             f"{WITHOUT_COVARIANCE}")
    usable = np.abs(covariance) <= LARGEST_PARAMETER ** 2
    if not usable.all():
        row, column = (brief(names[i]) for i in np.argwhere(~usable)[0])
        raise ParameterError(f"{what}: covariance of {row} and {column} is not finite or too "
                             f"large; expected a number of size up to {LARGEST_PARAMETER ** 2:g}. "
                             f"{WITHOUT_COVARIANCE}")
    variance = np.diag(covariance)
    scaled = _of_unit_variances(covariance)
    if (np.diag(scaled) < -INDEFINITE).any():
        place = int(np.argmin(np.diag(scaled)))
        raise ParameterError(f"{what}: variance of {brief(names[place])} is {variance[place]:g}; "
                             f"expected zero or more. {WITHOUT_COVARIANCE}")
    if np.abs(scaled - scaled.T).max(initial=0.0) > INDEFINITE:
        raise ParameterError(f"{what}: covariance is not symmetric; expected a symmetric matrix. "
                             f"{WITHOUT_COVARIANCE}")
    lowest = _lowest_eigenvalue(scaled)
    if lowest < -INDEFINITE:
        raise ParameterError(
            f"{what}: covariance is not positive semidefinite (smallest eigenvalue {lowest:.2g} "
            f"with variances scaled to one); expected a covariance matrix. {WITHOUT_COVARIANCE}")


def _of_unit_variances(covariance: np.ndarray) -> np.ndarray:
    """The covariance scaled to variances of one, except those negligible beside the largest."""
    stddev = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    unit = np.maximum(stddev, NEGLIGIBLE_STDDEV * stddev.max(initial=0.0))
    unit[unit == 0.0] = 1.0
    return covariance / unit[:, None] / unit


def _lowest_eigenvalue(scaled: np.ndarray) -> float:
    """Lowest eigenvalue of a symmetric matrix with variances of one."""
    # Entries far beyond what their variances allow could overflow in the eigenvalues.
    if np.abs(scaled).max(initial=0.0) > 2.0:
        return -np.inf
    return float(np.linalg.eigvalsh(scaled).min(initial=0.0))


def _check_information(found: Any, what: str) -> None:
    size = len(found.names)
    A = None if found.information is None else np.asarray(found.information)
    g = None if found.gradient is None else np.asarray(found.gradient)
    expected = (
        f"expected an information matrix ({size}, {size}), positive definite, with a gradient "
        f"({size},) and a covariance. {SAVE_AGAIN}, or delete 'information_lower_triangle' "
        "and 'gradient'.")
    if A is None or g is None or found.covariance is None:
        raise ParameterError(f"{what}: one of information, gradient and covariance is missing; "
                             f"{expected}")
    if A.shape != (size, size) or g.shape != (size,) or not (is_real(A) and is_real(g)):
        raise ParameterError(
            f"{what}: information has shape {A.shape} ({A.dtype}), gradient {g.shape} "
            f"({g.dtype}); {expected}")
    if not (np.isfinite(A).all() and np.isfinite(g).all() and (np.diag(A) > 0).all()):
        raise ParameterError(f"{what}: information or gradient is not finite, or the information's "
                             f"diagonal is not positive; {expected}")
    unit = 1 / np.sqrt(np.diag(A))
    scaled = A * unit[:, None] * unit
    if np.abs(scaled - scaled.T).max() > INDEFINITE or not np.linalg.eigvalsh(scaled).min() > 0:
        raise ParameterError(
            f"{what}: information is not symmetric and positive definite; {expected}")


def _check_gradient_covariance(B: np.ndarray, size: int, what: str) -> None:
    usable = B.shape == (size, size) and is_real(B) and bool(
        np.isfinite(B).all() and (np.diag(B) >= 0).all())
    if usable:
        scaled = _of_unit_variances(B)
        usable = bool(_lowest_eigenvalue(scaled) >= -INDEFINITE
                      and np.abs(scaled - scaled.T).max() <= INDEFINITE)
    if not usable:
        raise ParameterError(
            f"{what}: gradient_covariance is not a covariance matrix; expected ({size}, {size}) "
            f"finite numbers, symmetric and positive semidefinite. {SAVE_AGAIN}, or delete "
            "'gradient_covariance_lower_triangle'.")


def _check_residual_products(found: np.ndarray, channels: int | None, what: str) -> None:
    usable = found.ndim == 3 and len(found) == 2 and channels in (None, found.shape[-1])
    # squares at lag zero and weights are never negative
    if not (usable and np.isfinite(found).all() and (found[0, 0] >= 0).all()
            and (found[1] >= 0).all()):
        raise ParameterError(
            f"{what}: residual_products of shape {found.shape} cannot be used; expected finite "
            f"sums of products at each lag and channel, and weights of zero or more. {SAVE_AGAIN}, "
            "or delete it.")


def _check_noise(key: str, noise: np.ndarray, stated: list[str] | None, channels: int | None,
                 what: str) -> None:
    without = f"{SAVE_AGAIN}, or delete '{key}' to start from estimation.noise_stddev."
    expected = channels if channels is not None else (None if stated is None else len(stated))
    if noise.ndim != 1 or not is_real(noise) or (
            expected is not None and noise.size != expected):
        raise ParameterError(
            f"{what}: {key} has {noise.size} entries, expected "
            f"{'a list of' if expected is None else expected} real numbers, one for each channel. "
            f"{without}")
    usable = (noise >= LEAST_SAVED_NOISE) & (noise <= MOST_SAVED_NOISE)  # false for NaN
    if not usable.all():
        place = int(np.argmin(usable))
        channel = brief(stated[place]) if stated and place < len(stated) else f"channel {place}"
        raise ParameterError(
            f"{what}: {key} of {channel} is {noise[place]:g}; expected a number from "
            f"{LEAST_SAVED_NOISE:g} to {MOST_SAVED_NOISE:g} [N or N m]. {without}")
