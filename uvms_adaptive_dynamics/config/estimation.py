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

"""How samples are made, refused and estimated from: filter, limits, horizon problem, covariance."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting

SOLVERS = ("auto", "native", "clarabel", "mosek")
SOLVER_NAMES = ", ".join(f"'{name}'" for name in SOLVERS) + " or 'cvxpy:<NAME>'"


@dataclass(frozen=True)
class Filter(Section):
    """From asynchronous signals to samples on the grid, and the low-pass on the rows."""

    NAME = "filter"
    period: float = setting(
        0.02, "Period of the grid; ticks are whole multiples of it since the epoch.", "s",
        0.001, 1.0)
    latency: float = setting(
        0.35, "Least data time between a tick and its sample; it grows to what the slowest sensor "
              "needs: lateness, period, half a window.", "s", 0.0, 5.0)
    linear_acceleration: str = setting(
        "fused", "Source of the linear acceleration.", choices=("fused", "dvl", "imu"))
    imu_window: float = setting(
        0.1, "Half width of the local polynomial on IMU signals.", "s", 0.005, 1.0)
    dvl_window: float = setting(
        1.0, "Half width of the window in which DVL and integrated IMU are joined.", "s", 0.05, 3.0)
    joint_window: float = setting(
        0.12, "Half width of the local polynomial on joint signals.", "s", 0.01, 1.0)
    lowpass: float = setting(
        0.07, "Standard deviation in time of the Gaussian low-pass on every column of Y and on tau "
              "(0.07: gain 0.91 at 1 Hz).", "s", 0.0, 2.0)
    minimum_share: float = setting(
        0.5, "Share of the low-pass weight that must be valid for a row to count.", "", 0.01, 1.0)
    gates: bool = setting(
        True, "Reject outliers and frozen sensors before anything is smoothed, mask implausible "
              "samples and leverage points; false: all that is finite counts (paper).")
    gap: float = setting(
        1.0, "A gap of data time longer than this empties the horizon.", "s", 0.05)


@dataclass(frozen=True)
class Limits(Section):
    """Plausibility of a sample: what lies beyond no such robot does, and is refused, not learnt."""

    NAME = "limits"
    speed: float = setting(
        10.0, "Linear velocity of the body; 20 knots, where such vehicles reach 2 m/s.", "m/s",
        0.1, 1000.0)
    rate: float = setting(
        12.0, "Angular rate of the body; two turns a second.", "rad/s", 0.1, 1000.0)
    acceleration: float = setting(
        40.0, "Linear acceleration of the body; 4 g, where full thrust gives less than 1 g and a "
              "collision the rest.", "m/s^2", 0.1, 1e4)
    angular_acceleration: float = setting(
        100.0, "Angular acceleration of the body; from rest to the limit of the rate in 0.12 s.",
        "rad/s^2", 0.1, 1e5)
    joint_speed: float = setting(
        20.0, "Speed of a joint (a prismatic one: m/s); twenty times the fastest of an Alpha 5.",
        "rad/s", 0.1, 1e4)
    joint_acceleration: float = setting(
        2000.0, "Acceleration of a joint (a prismatic one: m/s^2); from rest to the limit of its "
                "speed in 10 ms.", "rad/s^2", 0.1, 1e6)
    force: float = setting(
        2000.0, "Each component of the thrusters' force, and the force of a prismatic joint; ten "
                "times four T200 thrusters side by side.", "N", 1.0, 1e6)
    torque: float = setting(
        1000.0, "Each component of the thrusters' moment, and the torque of a revolute joint; "
                "twenty times the roll moment of a BlueROV2 Heavy.", "N m", 1.0, 1e6)


@dataclass(frozen=True)
class Estimation(Section):
    """The moving horizon problem."""

    NAME = "estimation"
    horizon: int = setting(100, "Samples in the window.", "samples", 1, 20000)
    coupling: str = setting(
        "joint",
        "How the arm acts on the vehicle: 'joint' (true), 'reaction' (as the paper writes it), "
        "'none'.", choices=("joint", "reaction", "none"))
    base_motion: str = setting(
        "full",
        "What of the vehicle's motion the arm's model sees: 'full' or 'tilt' (gravity only).",
        choices=("full", "tilt"))
    grouping: str = setting(
        "sample",
        "What one Huber norm spans: 'sample' (one instant), 'channel' (one row), 'horizon' "
        "(paper).",
        choices=("sample", "channel", "horizon"))
    rho_quantile: float = setting(
        0.95,
        "Huber threshold as quantile of the group's norm under nominal noise; 1: no threshold. "
        "Counts where rho is 0.", "", 0.5, 1.0)
    rho: float = setting(
        0.0, "Huber threshold of every group as a plain number, in the units of the weighted "
             "residual (paper); above 0 it counts instead of rho_quantile.", "", 0.0)
    weights: str = setting(
        "noise", "What weighs a channel's residual: 'noise' (in deviations of its noise), 'equal' "
                 "(paper: newtons and newton metres alike).", choices=("noise", "equal"))
    rows_at_rest: str = setting(
        "left out", "Rows that stand still for longer than a second: 'left out' (they repeat one "
                    "error) or 'counted' (paper).", choices=("left out", "counted"))
    arrival: str = setting(
        "information", "Arrival cost: 'information' (all data, forgetting), or the paper's "
                       "|pi - pi_previous|_Q^2 with 'relative' or 'general' Q.",
        choices=("information", "relative", "general"))
    forgetting: float = setting(
        0.9998, "Weight of a row after one tick, to the power of its age (information).",
        "", 0.9, 1.0)
    forgetting_kind: str = setting(
        "directional",
        "What fades: 'directional' (only what new data replace), 'uniform' (everything; always so "
        "with coupling 'reaction').", choices=("directional", "uniform"))
    follow_changes: bool = setting(
        True, "Re-estimate a link or the vehicle where its dynamics have changed, such as with a "
              "payload (with directional forgetting).")
    information_floor: float = setting(
        1e-3, "Share of the prior's information that uniform forgetting leaves, and that the "
              "paper's arrival costs add; with less, nothing bounds what data do not determine.",
        "", 1e-9, 1.0)
    prior_stddev: float = setting(
        1.0,
        "Standard deviation of the prior, relative to each parameter's size; above 100 a prior "
        "holds nothing and rounding decides.", "", 1e-6, 1e2)
    prior_inflation: float = setting(
        1.0, "Factor on the covariance of a saved estimate that a run starts from; above 1 weakens "
             "it.", "", 1e-3, 1e6)
    relative_weight: float = setting(
        1.0, "q of the relative arrival cost, Q = diag(q / max(|pi|, eps)^2); far below 1 a short "
             "window alone must determine the parameters.", "", 1e-4, 1e6)
    relative_epsilon: float = setting(
        1e-2, "eps of the relative arrival cost and of the paper's normalized increments, relative "
              "to each parameter's reference scale.", "", 1e-12)
    arrival_matrix: tuple[float, ...] = setting(
        (), "Q of the general arrival cost, in 1 / SI units squared: its diagonal (one number per "
            "parameter), or all rows one after the other; positive definite.")
    epsilon: float = setting(
        1e-4, "Margin of the matrix inequalities (M_v as it is, pseudo-inertias scaled).",
        "", 0.0, 0.1)
    weight_min: float = setting(
        90.0, "Lower bound of the vehicle's weight W in air. Where the bounds leave out the "
              "built-in prior's 113 N, it is of a similar vehicle of their geometric middle.",
        "N", 0.0)
    weight_max: float = setting(180.0, "Upper bound of the vehicle's weight W in air.", "N", 0.0)
    frozen: tuple[str, ...] = setting(
        (), "Parameters kept at their prior: names or patterns such as 'axis_b.*'.", kind="strings")
    schedule: str = setting(
        "", "Stages of identification, docs/identification.md: 'guided', 'paper', "
            "'arm_distal_to_proximal', 'vehicle', 'all_at_once', or the path of a .yaml file; "
            "empty: no stages, all parameters at once.")
    solver: str = setting(
        "auto", "'auto' (MOSEK with a licence, else native), 'native' (the package's own methods), "
                "'clarabel', 'mosek', or 'cvxpy:<NAME>' (slow).")
    deadline: float = setting(
        0.0, "Longest time of one solve; 0: half a period in the node, none offline, where results "
        "must not depend on the machine.", "s", 0.0, 10.0)
    noise_stddev: tuple[float, ...] = setting(
        (),
        "Initial noise of each channel; empty: 2 N, 0.5 N m and 5 % of the joint's effort limit.",
        "N, N m", 1e-9)
    adapt_noise: bool = setting(
        True, "Track each channel's noise from residuals of earlier predictions.")
    noise_time: float = setting(5.0, "Time over which the noise is tracked.", "s", 0.1)

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
        "Noise of a prediction's interval: 'calibrated' (brings coverage to 95 %) or 'recursive' "
        "(exponentially weighted squared residuals of earlier rows, as in the paper's public "
        "code).", choices=("calibrated", "recursive"))
    noise_alpha: float = setting(
        0.5, "Weight of the newest squared residual in the recursive noise.", "", 1e-4, 1.0)
    alpha: float = setting(
        0.05, "Importance factor of the paper's exponentially weighted covariance.", "", 1e-6, 1.0)
    epsilon: float = setting(1e-12, "Regularization of the paper's covariance.", "", 0.0)
    delay_stddev: float = setting(
        0.01, "Standard deviation, in parameters' intervals, of the stamps of the wrench and of "
              "the joints' efforts; a command held for 20 ms acts 10 ms later on average.",
        "s", 0.0, 1.0)
    scale_stddev: float = setting(
        0.05, "Relative standard deviation, in parameters' intervals, of the scale of the wrench "
              "and of the joints' efforts; a T200 loses 5 to 10 % of its thrust from 16 to 15.2 V.",
        "", 0.0, 1.0)
