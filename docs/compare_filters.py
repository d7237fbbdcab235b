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

"""Compares two designs of the acceleration filter on the simulated robot's sensors.

    python docs/compare_filters.py [--seed 1] [--duration 60] [--output FILE.png]

The table goes to stdout, gain and phase into the picture. The built-in design uses local
polynomials, with IMU and DVL fused through a slow offset (`inertial`, `joints`). The alternative is
a fixed-lag Kalman smoother with a jerk model: velocity from the DVL, acceleration from the IMU with
a bias state, in the frame that the gyro propagates; angular acceleration from the gyro; joints from
position and velocity.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "test")]
from frame_cases import decoded  # noqa: E402

from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.model.kernel import gaussian_kernel  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.model.rotations import FRD_FROM_FLU, rotation  # noqa: E402
from uvms_adaptive_dynamics.signals.decode.decoder import Decoder  # noqa: E402
from uvms_adaptive_dynamics.signals.decode.sensor_clock import SensorClock  # noqa: E402
from uvms_adaptive_dynamics.signals.filters.inertial import InertialFilter  # noqa: E402
from uvms_adaptive_dynamics.signals.filters.joints import JointFilter  # noqa: E402
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd  # noqa: E402
from uvms_adaptive_dynamics.signals.samples import samples_of  # noqa: E402
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot  # noqa: E402

LAG = 0.35  # [s] of later measurements available to both designs
AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw", "axis_e", "axis_d", "axis_c", "axis_b")
GYRO, FORCE, DVL, BIAS_WALK = 0.003, 0.03, 0.01, 0.02
JERK = {
    "linear": 1.5,
    "angular": 4.0,
    "joint": 8.0,
}  # white noise driving the jerk's integral, tuned on seed 0


class JerkSmoother:
    """Kalman filter and fixed-lag Rauch-Tung-Striebel smoother for a chain of integrators, on
    several equal axes at once."""

    def __init__(self, order, intensity, bias_walk=0.0):
        self.n, self.q, self.bias = order, intensity**2, bias_walk**2
        self.size = order + (1 if bias_walk else 0)

    def model(self, dt):
        n = self.n
        F, Q = np.eye(self.size), np.zeros((self.size, self.size))
        g = np.ones(n)
        for k in range(1, n):
            F[np.arange(n - k), np.arange(k, n)] = dt**k / np.prod(np.arange(1, k + 1))
            g[n - 1 - k] = dt**k / np.prod(np.arange(1, k + 1))
        Q[:n, :n] = self.q * dt * np.outer(g, g) / 3.0 + np.diag([0.0] * (n - 1) + [self.q * dt])
        if self.bias:
            Q[-1, -1] = self.bias * dt
        return F, Q

    def smooth(self, times, measurements, at):
        """(len(at), size, axes) smoothed states. measurements: for each time a list of
        (h (size,), z (axes,), variance)."""
        axes = len(measurements[0][0][1])
        x, P = np.zeros((self.size, axes)), np.eye(self.size) * 100.0
        kept, before = [], times[0]
        for t, batch in zip(times, measurements):
            F, Q = self.model(max(t - before, 0.0))
            before = t
            xp, Pp = F @ x, F @ P @ F.T + Q
            x, P = xp, Pp
            for h, z, r in batch:
                K = P @ h / (h @ P @ h + r)
                x = x + np.outer(K, z - h @ x)
                P = P - np.outer(K, h @ P)
                P = 0.5 * (P + P.T)
            kept.append((F, xp, Pp, x, P))
        found = np.zeros((len(at), self.size, axes))
        for i, t in enumerate(at):
            k, last = (
                np.searchsorted(times, t, "right") - 1,
                np.searchsorted(times, t + LAG, "right") - 1,
            )
            xs = kept[last][3]
            for j in range(last - 1, k - 1, -1):
                F, xp, Pp = kept[j + 1][:3]
                C = kept[j][4] @ F.T @ np.linalg.inv(Pp)
                xs = kept[j][3] + C @ (xs - xp)
            found[i] = self.model(t - times[k])[0] @ xs
        return found


def smoother_states(config, imu, dvl, joints, at):
    """nu_dot (k, 6) and mu_ddot (k, n) of the smoother; imu, dvl, joints: [(time, reading)]."""
    turn = lambda phi: np.reshape(rotation(*phi), (3, 3))  # noqa: E731
    t, readings = np.array([a for a, _ in imu]), np.array([r for _, r in imu])
    n3, w, f = readings[:, :3], readings[:, 3:6], readings[:, 6:9]
    R = [np.eye(3)]
    for k in range(1, len(t)):
        R.append(R[-1] @ turn(0.5 * (t[k] - t[k - 1]) * (w[k] + w[k - 1])))
    R = np.array(R)
    force = np.einsum("kij,kj->ki", R, f + config.robot.gravity * n3)
    lever, unit = FRD_FROM_FLU @ np.array(config.dvl.xyz), np.eye(5)
    events = [(a, (unit[1] + unit[3], z, FORCE**2)) for a, z in zip(t, force)]
    for a, v in dvl:
        k = np.clip(np.searchsorted(t, a), 1, len(t) - 1)
        wa = w[k - 1] + (w[k] - w[k - 1]) * (a - t[k - 1]) / (t[k] - t[k - 1])
        G = R[k - 1] @ turn((a - t[k - 1]) * wa)
        events.append((a, (unit[0], G @ (v - np.cross(wa, lever)), DVL**2)))
    events.sort(key=lambda e: e[0])
    linear = JerkSmoother(3, JERK["linear"], BIAS_WALK)
    h4 = lambda h: h[:4]  # noqa: E731
    states = linear.smooth(
        np.array([e[0] for e in events]), [[(h4(h), z, r)] for _, (h, z, r) in events], at
    )
    angular = JerkSmoother(3, JERK["angular"])
    turning = angular.smooth(t, [[(np.eye(3)[0], z, GYRO**2)] for z in w], at)
    nu_dot = np.zeros((len(at), 6))
    for i, a in enumerate(at):
        k = np.searchsorted(t, a, "right") - 1
        G, wi = R[k] @ turn((a - t[k]) * turning[i, 0]), turning[i, 0]
        nu_dot[i, :3] = G.T @ states[i, 1] - np.cross(wi, G.T @ states[i, 0])
        nu_dot[i, 3:] = turning[i, 1]
    s = config.joint_states
    joint = JerkSmoother(4, JERK["joint"])
    n = len(config.robot.joints)
    rows = [
        [
            (np.eye(4)[0], np.array(r[:n]), s.position_stddev**2),
            (np.eye(4)[1], np.array(r[n : 2 * n]), s.velocity_stddev**2),
        ]
        for _, r in joints
    ]
    return nu_dot, joint.smooth(np.array([a for a, _ in joints]), rows, at)[:, 2]


def differentiated_dvl(dvl, w_of, lever, at):
    """(k, 3) acceleration from differences of neighbouring DVL velocities, interpolated."""
    t = np.array([a for a, _ in dvl])
    v = np.array([x - np.cross(w_of(a), lever) for a, x in dvl])
    slope = np.diff(v, axis=0) / np.diff(t)[:, None]
    return np.column_stack([np.interp(at, 0.5 * (t[1:] + t[:-1]), c) for c in slope.T])


def wave_of(omega):
    """A sine of unit amplitude, its derivative and its second derivative."""
    return (
        lambda t: np.sin(omega * t),
        lambda t: omega * np.cos(omega * t),
        lambda t: -omega * omega * np.sin(omega * t),
    )


def responses(config, robot, frequencies):
    """Complex gain of both designs for each kind of acceleration, from noise-free sines."""
    found = {}
    names = [("polynomial", k) for k in ("linear", "angular", "joint")] + [
        ("jerk smoother", k) for k in ("linear", "angular", "joint")
    ]
    for f in frequencies:
        o, end = 2 * np.pi * f, max(6.0, 3.0 / f)
        sine, slope, bend = wave_of(o)
        small, n = 0.05 / max(1.0, o), len(config.robot.joints)
        t_imu, t_dvl, t_joint = (
            np.arange(0, end, 0.01),
            np.arange(0.003, end, 0.1),
            np.arange(0.004, end, 0.02),
        )
        imu = [(t, [0, 0, 1, 0, 0, small * slope(t), 0, 0, slope(t) - 9.80665, 0]) for t in t_imu]
        lever = np.array([-0.06, 0, 0.105])
        dvl = [
            (t, np.array([0, 0, sine(t)]) + np.cross([0, 0, small * slope(t)], lever))
            for t in t_dvl
        ]
        joints = [(t, [sine(t)] * n + [slope(t)] * n + [0.0] * n) for t in t_joint]
        at = np.arange(2.0, end - 1.0, 0.02)
        clock = SensorClock()
        a, j = InertialFilter(config, clock, clock), JointFilter(config, robot, clock)
        for t, r in imu:
            a.add_imu(t, r)
        for t, v in dvl:
            a.add_dvl(t, v)
        for t, r in joints:
            j.add(t, r)
        motion = np.array([a.motion(t).nu_dot for t in at])
        first = [motion[:, 2], motion[:, 5], np.array([j.motion(t).mu_ddot[0] for t in at])]
        nu_dot, mu_ddot = smoother_states(config, imu, dvl, joints, at)
        truth = [slope(at), small * bend(at), bend(at)]
        wave = np.column_stack([np.cos(o * at), np.sin(o * at), np.ones(len(at))])
        for name, y, x in zip(
            names, first + [nu_dot[:, 2], nu_dot[:, 5], mu_ddot[:, 0]], truth + truth
        ):
            (c, s, _), (d, e, _) = (np.linalg.lstsq(wave, z, rcond=None)[0] for z in (y, x))
            found.setdefault(name, []).append(complex(c, -s) / complex(d, -e))
    return {name: np.array(values) for name, values in found.items()}


def picture(path, found, frequencies):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 5), sharex=True)
    for (design, kind), values in found.items():
        column = ("linear", "angular", "joint").index(kind)
        line = dict(color="C0" if design == "polynomial" else "C1", label=design)
        axes[0, column].semilogx(frequencies, np.abs(values), **line)
        axes[1, column].semilogx(frequencies, np.degrees(np.angle(values)), **line)
        axes[0, column].set(title=f"{kind} acceleration", ylim=(0, 1.3))
        axes[1, column].set(xlabel="frequency [Hz]", ylim=(-30, 30))
    axes[0, 0].set_ylabel("gain")
    axes[1, 0].set_ylabel("phase [deg]")
    axes[0, 0].legend()
    for a in axes.ravel():
        a.grid(alpha=0.3)
        a.set_xticks([0.2, 0.5, 1, 2, 5], labels=["0.2", "0.5", "1", "2", "5"])
        a.minorticks_off()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def series_of(messages, config, t0):
    """[(time from t0 [s], reading)] of each motion sensor."""
    decoder, series = Decoder(config), {"imu": [], "dvl": [], "joint_states": []}
    for role, m, _ in messages:
        if role in series:
            t = m.header.stamp.sec - t0 + 1e-9 * m.header.stamp.nanosec
            series[role].append((t, decoder.decode(role, m)))
    return series


def accelerations(config, robot, messages, truth, duration):
    """(indices into the truth, {design: accelerations (k, 10)}, CPU seconds per sample of the front
    end and of the smoother)."""
    t0, period = truth.t[0], config.filter.period
    begin = time.process_time()
    samples = samples_of(SignalFrontEnd(config, robot), messages)
    cost_front = (time.process_time() - begin) / len(samples)
    ticks = {round(s.t / period): s for s in samples}
    place = [
        k
        for k, t in enumerate(truth.t)
        if 3 < t - t0 < duration - 2 and round(t / period) in ticks
    ]
    used = [ticks[round(truth.t[k] / period)] for k in place]
    built = np.array([np.r_[sample.nu_dot, sample.mu_ddot] for sample in used])
    at, series = truth.t[place] - t0, series_of(messages, config, t0)
    begin = time.process_time()
    kalman = np.hstack(smoother_states(config, *series.values(), at))
    cost_kalman = (time.process_time() - begin) / len(at)
    t_imu, w = np.array([a for a, _ in series["imu"]]), np.array([r[3:6] for _, r in series["imu"]])
    naive = np.full_like(built, np.nan)
    naive[:, :3] = differentiated_dvl(
        series["dvl"],
        lambda a: np.array([np.interp(a, t_imu, c) for c in w.T]),
        np.array([-0.06, 0, 0.105]),
        at,
    )
    designs = {"built": built, "smoother": kalman, "dvl'": naive}
    return place, designs, (cost_front, cost_kalman)


def print_errors(config, truth, place, designs):
    """Print RMS errors over the RMS of the acceleration, before and after the common low-pass."""
    true = np.hstack([truth.nu_dot, truth.mu_ddot])[place]
    # The simulated joints stick and slip: a tenth of the power of their acceleration lies above
    # 12 Hz, which 50 Hz cannot show. So both sides are low-passed, and the joints' true velocity is
    # low-passed before it is differentiated.
    kernel = gaussian_kernel(config.filter)
    low = lambda x: np.apply_along_axis(np.convolve, 0, x, kernel, "valid")  # noqa: E731
    smooth_true = low(true)
    smooth_true[:, 6:] = np.gradient(low(truth.mu_dot[place]), config.filter.period, axis=0)
    share = lambda e, x: np.sqrt(np.mean(e**2, axis=0) / np.mean(x**2, axis=0))  # noqa: E731
    columns = [share(y - true, true) for y in designs.values()]
    columns += [share(low(y) - smooth_true, smooth_true) for y in designs.values()]
    heads = "  ".join(designs)
    print(
        "RMS error / RMS of the acceleration; before and after the common low-pass\n"
        f"axis     {heads}  | {heads}"
    )
    for c, name in enumerate(AXES):
        cells = [f"{100 * x[c]:5.1f}%" for x in columns]
        print(f"{name:8s} " + "  ".join(cells[:3]) + "  | " + "  ".join(cells[3:]))


def print_responses(found, frequencies):
    """Print gain at three frequencies and the largest phase of each design."""
    for name, values in found.items():
        gains = [f"{np.interp(f, frequencies, np.abs(values)):.3f}" for f in (1, 2, 4)]
        phase = np.degrees(np.abs(np.angle(values[frequencies < 4]))).max()
        print(*name, "gain at 1, 2, 4 Hz:", *gains, f"largest phase below 4 Hz {phase:.1f} deg")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--duration", type=float, default=60.0)
    parser.add_argument("--output", default=str(ROOT / "docs" / "acceleration_filters.png"))
    args = parser.parse_args()
    config = Config()
    robot = RobotModel.from_config(config)
    simulated = SimulatedRobot(args.seed, args.duration, start_ns=1_767_225_600 * 10**9)
    messages = [decoded(m) for m in simulated]
    truth = simulated.truth()
    place, designs, costs = accelerations(config, robot, messages, truth, args.duration)
    print_errors(config, truth, place, designs)
    print(
        f"CPU per sample: built, everything, {1e3 * costs[0]:.2f} ms; "
        f"smoother alone {1e3 * costs[1]:.2f} ms"
    )
    frequencies = np.geomspace(0.15, 8.0, 22)
    found = responses(config, robot, frequencies)
    print_responses(found, frequencies)
    picture(args.output, found, frequencies)


if __name__ == "__main__":
    main()
