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

"""Settings of the estimation: filter, plausibility limits, horizon problem, covariance."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting

SOLVERS = ("auto", "native", "clarabel", "mosek")
SOLVER_NAMES = ", ".join(f"'{name}'" for name in SOLVERS) + " or 'cvxpy:<NAME>'"


@dataclass(frozen=True)
class Filter(Section):
    """Resampling of asynchronous signals to a common grid, and low-pass of the regressor rows."""

    NAME = "filter"
    period: float = setting(
        0.02, "Sampling period; ticks are at whole multiples of it since the epoch.", "s",
        0.001, 1.0)
    latency: float = setting(
        0.35, "Minimum latency from a tick to its sample, in data time. It grows to what the "
              "slowest sensor needs: its lateness, its period, half of its window.", "s", 0.0, 5.0)
    linear_acceleration: str = setting(
        "fused", "Source of the linear acceleration: DVL and IMU fused, DVL alone or IMU alone.",
        choices=("fused", "dvl", "imu"))
    imu_window: float = setting(
        0.1, "Half width of the local polynomial fit that smooths and differentiates IMU signals.",
        "s", 0.005, 1.0)
    dvl_window: float = setting(
        1.0, "Half width of the window in which DVL velocity and integrated IMU are fused.",
        "s", 0.05, 3.0)
    joint_window: float = setting(
        0.12, "Half width of the local polynomial fit that smooths and differentiates joint "
              "signals.",
        "s", 0.01, 1.0)
    lowpass: float = setting(
        0.07, "Standard deviation of the Gaussian low-pass kernel that is applied alike to every "
              "column of Y and to tau (0.07: gain 0.91 at 1 Hz).", "s", 0.0, 2.0)
    minimum_share: float = setting(
        0.5, "Fraction of the low-pass weight that must fall on valid samples for a row to count.",
        "", 0.01, 1.0)
    gates: bool = setting(
        True, "Reject outliers and frozen sensors before smoothing, and mask implausible samples "
              "and leverage points; false: use everything that is finite (paper).")
    gap: float = setting(
        1.0, "A gap in data time longer than this empties the horizon.", "s", 0.05)


@dataclass(frozen=True)
class Limits(Section):
    """Plausibility limits of a sample; samples beyond them are rejected and not learnt."""

    NAME = "limits"
    speed: float = setting(
        10.0, "Largest linear velocity of the body. Default: 20 knots; such vehicles reach 2 m/s.",
        "m/s",
        0.1, 1000.0)
    rate: float = setting(
        12.0, "Largest angular rate of the body. Default: two turns per second.",
        "rad/s", 0.1, 1000.0)
    acceleration: float = setting(
        40.0, "Largest linear acceleration of the body. Default: 4 g; full thrust gives less than "
              "1 g, the rest allows for collisions.", "m/s^2", 0.1, 1e4)
    angular_acceleration: float = setting(
        100.0, "Largest angular acceleration of the body. Default: from rest to the rate limit in "
               "0.12 s.",
        "rad/s^2", 0.1, 1e5)
    joint_speed: float = setting(
        20.0, "Largest speed of a joint (prismatic: m/s). Default: twenty times that of the "
              "fastest joint of an Alpha 5.",
        "rad/s", 0.1, 1e4)
    joint_acceleration: float = setting(
        2000.0, "Largest acceleration of a joint (prismatic: m/s^2). Default: from rest to the "
                "speed limit in 10 ms.", "rad/s^2", 0.1, 1e6)
    force: float = setting(
        2000.0, "Largest component of the thrusters' force, and largest force of a prismatic "
                "joint, or three times what the URDF allows, if that is more. For a vehicle "
                "heavier than a BlueROV2 (estimation.weight_max), as many times larger. "
                "Default: ten times four T200 thrusters side by side.",
        "N", 1.0, 1e6)
    torque: float = setting(
        1000.0, "Largest component of the thrusters' moment, and largest torque of a revolute "
                "joint, or three times what the URDF allows, if that is more. For a heavier "
                "vehicle, larger like `force`, and longer levers count. "
                "Default: twenty times the roll moment of a BlueROV2 Heavy.",
        "N m", 1.0, 1e6)


@dataclass(frozen=True)
class Estimation(Section):
    """Moving horizon estimation: window, cost, constraints, solver."""

    NAME = "estimation"
    horizon: int = setting(100, "Length of the estimation window.", "samples", 1, 20000)
    coupling: str = setting(
        "joint",
        "How the arm's reaction on the vehicle is modelled: 'joint' (vehicle and arm as one "
        "system), 'reaction' (as the paper writes it), 'none'.",
        choices=("joint", "reaction", "none"))
    base_motion: str = setting(
        "full",
        "Vehicle motion in the arm's model: 'full', or 'tilt' (only the direction of gravity).",
        choices=("full", "tilt"))
    grouping: str = setting(
        "sample",
        "Residuals that share one Huber norm: 'sample' (all of one instant), 'channel' (one row), "
        "'horizon' (all; paper).",
        choices=("sample", "channel", "horizon"))
    rho_quantile: float = setting(
        0.95,
        "Huber threshold as a quantile of the group's norm under nominal noise; 1: no threshold. "
        "Used when rho is 0.", "", 0.5, 1.0)
    rho: float = setting(
        0.0, "Huber threshold of every group as a plain number, in the units of the weighted "
             "residual (paper); above 0 it replaces rho_quantile.", "", 0.0)
    weights: str = setting(
        "noise",
        "Weight of a channel's residual: 'noise' (divided by the channel's noise), 'equal' (paper: "
        "newtons and newton metres alike).", choices=("noise", "equal"))
    rows_at_rest: str = setting(
        "left out", "Rows that have not changed for more than a second: 'left out' (they repeat "
                    "one error) or 'counted' (paper).", choices=("left out", "counted"))
    arrival: str = setting(
        "information",
        "Arrival cost: 'information' (all past data, with forgetting), or the paper's |pi - "
        "pi_previous|_Q^2 with 'relative' or 'general' Q.",
        choices=("information", "relative", "general"))
    forgetting: float = setting(
        0.9998, "Forgetting factor per tick: a row of age k ticks has this weight to the power of "
                "k (arrival 'information').",
        "", 0.9, 1.0)
    forgetting_kind: str = setting(
        "directional",
        "What is forgotten: 'directional' (only what new data replace), 'uniform' (everything; "
        "always the case with coupling 'reaction').", choices=("directional", "uniform"))
    follow_changes: bool = setting(
        True, "Detect changed dynamics, such as a payload, and re-estimate that link or the "
              "vehicle (needs directional forgetting).")
    information_floor: float = setting(
        1e-3, "Fraction of the prior's information that uniform forgetting always keeps and the "
              "paper's arrival costs add. With less, parameters that the data do not determine "
              "are unbounded.",
        "", 1e-9, 1.0)
    prior_stddev: float = setting(
        1.0,
        "Standard deviation of the prior, relative to each parameter's size. Limited to 100: a "
        "weaker prior holds nothing and rounding errors decide.", "", 1e-5, 1e2)
    prior_inflation: float = setting(
        1.0, "Factor on the covariance of a saved estimate that a run starts from; above 1 trusts "
             "it less.", "", 1e-3, 1e6)
    relative_weight: float = setting(
        1.0, "q of the relative arrival cost, Q = diag(q / max(|pi|, eps)^2). Far below 1 the "
             "window alone must determine the parameters; a short one cannot.", "", 1e-4, 1e6)
    relative_epsilon: float = setting(
        1e-2, "eps of the relative arrival cost and of the paper's normalized increments, relative "
              "to each parameter's reference scale.", "", 1e-12)
    arrival_matrix: tuple[float, ...] = setting(
        (), "Q of the general arrival cost, in 1 / SI units squared: its diagonal (one number per "
            "parameter) or the whole matrix row by row; positive definite.")
    epsilon: float = setting(
        1e-4, "Margin of the matrix inequalities, for M_v in SI units and for scaled "
              "pseudo-inertias.",
        "", 0.0, 0.1)
    weight_min: float = setting(
        0.0, "Lower bound of the vehicle's weight W in air; see weight_max.", "N", 0.0)
    weight_max: float = setting(
        0.0, "Upper bound of the vehicle's weight W in air; 0: both bounds follow from "
             "robot.dry_mass (its weight, less or more by a factor of 1.4) or, if that is unknown, "
             "are 90 and 180 N. If they exclude the built-in prior's 113 N, that prior is scaled "
             "to a similar vehicle whose weight is their geometric mean.", "N", 0.0)
    frozen: tuple[str, ...] = setting(
        (), "Parameters that stay at their prior: names, or patterns such as 'axis_b.*'.",
        kind="strings")
    schedule: str = setting(
        "", "Stages of the identification (docs/identification.md): 'guided', 'paper', "
            "'arm_distal_to_proximal', 'vehicle', 'all_at_once', or the path of a .yaml file; "
            "empty: no stages, all parameters at once.")
    solver: str = setting(
        "auto",
        "Solver: 'auto' (MOSEK if licensed, else native), 'native' (the package's own methods), "
        "'clarabel', 'mosek', or 'cvxpy:<NAME>' (slow).")
    deadline: float = setting(
        0.0, "Time limit of one solve; 0: in the node, what its tick has left of half a period; "
             "offline no limit, since results must not depend on the machine.", "s", 0.0, 10.0)
    noise_stddev: tuple[float, ...] = setting(
        (),
        "Initial noise of each channel, one standard deviation; empty: 2 N, 0.5 N m and 5 % of the "
        "joint's effort limit.",
        "N, N m", 1e-6)
    adapt_noise: bool = setting(
        True, "Adapt each channel's noise to the residuals of its predictions; false: keep the "
              "initial noise.")
    noise_time: float = setting(5.0, "Time constant of the noise adaptation.", "s", 0.1)

    def validate(self) -> None:
        if self.weight_max < self.weight_min:
            self.refuse("weight_max", self.weight_max,
                        f"at least estimation.weight_min ({self.weight_min:g} N)")
        if self.solver not in SOLVERS and not self.solver.startswith("cvxpy:"):
            self.refuse("solver", self.solver, SOLVER_NAMES)


@dataclass(frozen=True)
class Uncertainty(Section):
    """Covariance of parameters and predictions."""

    NAME = "uncertainty"
    covariance: str = setting(
        "information",
        "Source of the parameter covariance: 'information' or 'increments' (paper).",
        choices=("information", "increments"))
    noise: str = setting(
        "calibrated",
        "Noise in the prediction intervals: 'calibrated' (brings coverage to 95 %) or 'recursive' "
        "(exponentially weighted squared residuals of earlier rows, as in the paper's public "
        "code).", choices=("calibrated", "recursive"))
    noise_alpha: float = setting(
        0.5, "Weight of the newest squared residual in the 'recursive' noise.", "", 1e-4, 1.0)
    alpha: float = setting(
        0.05, "Importance factor: weight of the newest increment in the paper's exponentially "
              "weighted covariance.",
        "", 1e-6, 1.0)
    epsilon: float = setting(1e-12, "Regularization of the paper's covariance.", "", 0.0)
    delay_stddev: float = setting(
        0.01, "Timing error of the wrench and of the joint efforts that parameter intervals allow "
              "for, one standard deviation. A command held for 20 ms acts 10 ms late on average.",
        "s", 0.0, 1.0)
    scale_stddev: float = setting(
        0.05, "Relative scale error of the wrench and of the joint efforts that parameter "
              "intervals allow for, one standard deviation. A T200 loses 5 to 10 % of its thrust "
              "from 16 to 15.2 V.",
        "", 0.0, 1.0)
    lacking_share: float = setting(
        1.0, "Size of effects that every vehicle in water may have and the model lacks, of which "
             "docs/terms.md has the list, relative to their typical sizes; parameter intervals "
             "allow for them. 0: the model is complete.",
        "", 0.0, 100.0)
