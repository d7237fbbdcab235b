"""Every setting of the package, once: frozen dataclasses with default, unit, range and meaning.

Lengths and axes of sensors are given as people measure them, in REP-103 body axes (x forward, y left, z up);
the conversion to FRD/NED happens in `sensors` and `manipulator`, nowhere else (DESIGN section 2).
"""
from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Iterator, Mapping

import yaml

from ..errors import ConfigError
from .settings import Section, setting

NODE_NAME = "uvms_estimator"

# Rows X Y Z K M N, columns thrusters 1-8, body FRD (DESIGN section 11).
BLUEROV2_HEAVY_ALLOCATION = (
    .707, .707, -.707, -.707, 0., 0., 0., 0.,
    -.707, .707, -.707, .707, 0., 0., 0., 0.,
    0., 0., 0., 0., -1., 1., 1., -1.,
    .06, -.06, .06, -.06, -.218, -.218, .218, .218,
    .06, .06, -.06, -.06, .12, -.12, .12, -.12,
    -.1888, .1888, .1888, -.1888, 0., 0., 0., 0.)


@dataclass(frozen=True)
class Robot(Section):
    """What the robot is: vehicle or none, arm or none, where the arm sits, and the constants of water and earth."""

    NAME = "robot"
    vehicle: bool = setting(True, "The arm sits on a free vehicle; false for an arm on a fixed base.")
    urdf: str = setting("package://uvms_adaptive_dynamics/robots/alpha5.urdf",
                        "The arm's URDF: a path, a package:// address, or 'robot_description' to take it from that topic.")
    joints: tuple = setting(("axis_e", "axis_d", "axis_c", "axis_b"), kind="strings",
                            doc="Moving joints from base to tip; empty for a vehicle without an arm. Others are locked at zero.")
    mount_xyz: tuple = setting((0.19, 0.0, -0.12), "Place of the URDF's root link in the vehicle's body axes (FLU).", "m")
    mount_rpy: tuple = setting((3.141592653589793, 0.0, 0.0), "Orientation of the URDF's root link in FLU, roll-pitch-yaw.", "rad")
    gravity: float = setting(9.80665, "Gravitational acceleration.", "m/s^2", 0.0, 30.0)
    water_density: float = setting(1000.0, "Density of the water.", "kg/m^3", 0.0, 1500.0)
    surface_pressure: float = setting(101325.0, "Absolute pressure at the surface.", "Pa", 0.0)
    link_volumes: tuple = setting((), "Displaced volume of each link; empty: link parameters are effective.", "m^3", 0.0, 1.0)
    link_buoyancy_centres: tuple = setting((), "Centre of buoyancy of each link in its own frame, x y z one after the other.", "m")
    rotor_inertia: tuple = setting((), "Known reflected rotor inertia of each joint; empty: hidden in the link.", "kg m^2", 0.0)
    estimate_rotor_inertia: bool = setting(False, "Estimate a reflected rotor inertia for each joint as a 13th parameter.")
    link_reference_mass: tuple = setting((), "Reference mass of each link for scaling; empty: the URDF's.", "kg", 1e-6)
    link_reference_length: tuple = setting((), "Reference length of each link for scaling; empty: the URDF's.", "m", 1e-6)
    current_ned: tuple = setting((0.0, 0.0, 0.0), "Known water current in NED, taken off the velocity over ground.", "m/s", -5, 5)

    def validate(self) -> None:
        n = len(self.joints)
        if len(set(self.joints)) != n:
            self.refuse("joints", self.joints, "every joint once")
        if not self.vehicle and not n:
            self.refuse("joints", self.joints, "at least one joint when robot.vehicle is false")
        for name, expected in (("mount_xyz", 3), ("mount_rpy", 3), ("current_ned", 3)):
            if len(getattr(self, name)) != expected:
                self.refuse(name, getattr(self, name), f"{expected} numbers")
        for name, per_joint in (("link_volumes", 1), ("link_buoyancy_centres", 3), ("rotor_inertia", 1),
                                ("link_reference_mass", 1), ("link_reference_length", 1)):
            got = getattr(self, name)
            if got and len(got) != per_joint * n:
                self.refuse(name, got, f"nothing or {per_joint * n} numbers ({per_joint} for each of {n} joints)")
        if bool(self.link_volumes) != bool(self.link_buoyancy_centres):
            self.refuse("link_buoyancy_centres", self.link_buoyancy_centres, "both link_volumes and centres, or neither")


@dataclass(frozen=True)
class Imu(Section):
    """Attitude, angular rate and specific force."""

    NAME = "imu"
    enabled: bool = setting(True, "Use this sensor.")
    topic: str = setting("imu/data", "Topic name.")
    type: str = setting("sensor_msgs/msg/Imu", "Message type.", choices=("sensor_msgs/msg/Imu",))
    frame: str = setting("flu", "Axes of rates and force: 'flu' (REP-103, mavros) or 'frd'.", choices=("flu", "frd"))
    world: str = setting("enu", "World of the orientation: 'enu' (REP-103) or 'ned'.", choices=("enu", "ned"))
    xyz: tuple = setting((0.0, 0.0, 0.0), "Place of the IMU in the body (FLU).", "m")
    rpy: tuple = setting((0.0, 0.0, 0.0), "Orientation of the IMU's axes in the body, in its own kind of axes.", "rad")
    delay: float = setting(0.0, "How much later than the truth its stamps are.", "s", -1.0, 1.0)
    timeout: float = setting(0.1, "Older than this, its rows are masked.", "s", 0.001)


@dataclass(frozen=True)
class Dvl(Section):
    """Velocity over ground (bottom track)."""

    NAME = "dvl"
    enabled: bool = setting(True, "Use this sensor.")
    topic: str = setting("dvl/twist", "Topic name.")
    type: str = setting("geometry_msgs/msg/TwistWithCovarianceStamped", "Message type.",
                        choices=("geometry_msgs/msg/TwistWithCovarianceStamped", "geometry_msgs/msg/TwistStamped",
                                 "dvl_msgs/msg/DVL", "marine_acoustic_msgs/msg/Dvl"))
    frame: str = setting("frd", "Axes of the velocity: 'frd' (A50 drivers) or 'flu'.", choices=("flu", "frd"))
    xyz: tuple = setting((-0.06, 0.0, -0.105), "Place of the DVL in the body (FLU).", "m")
    rpy: tuple = setting((0.0, 0.0, 0.0), "Orientation of the DVL's axes in the body, in its own kind of axes.", "rad")
    delay: float = setting(0.0, "How much later than the truth its stamps are.", "s", -1.0, 1.0)
    timeout: float = setting(0.35, "Without a sample within this time of the tick, its rows are masked.", "s", 0.01)
    max_stddev: float = setting(0.2, "A velocity with a larger stated standard deviation counts as no lock.", "m/s", 1e-6)
    max_speed: float = setting(5.0, "A larger velocity counts as no lock.", "m/s", 0.01)


@dataclass(frozen=True)
class Depth(Section):
    """Absolute pressure or depth."""

    NAME = "depth"
    enabled: bool = setting(True, "Use this sensor.")
    topic: str = setting("depth", "Topic name.")
    type: str = setting("sensor_msgs/msg/FluidPressure", "Message type.",
                        choices=("sensor_msgs/msg/FluidPressure", "std_msgs/msg/Float64"))
    xyz: tuple = setting((0.0, 0.0, 0.0), "Place of the pressure sensor in the body (FLU).", "m")
    delay: float = setting(0.0, "How much later than the truth its stamps are.", "s", -1.0, 1.0)
    timeout: float = setting(1.0, "Older than this, it no longer says where the vehicle is.", "s", 0.01)
    minimum: float = setting(0.3, "Shallower than this the vehicle counts as at the surface: vehicle rows masked.", "m", -10.0)
    maximum: float = setting(1e4, "Deeper than this the vehicle counts as on the floor: vehicle rows masked.", "m", 0.0)


@dataclass(frozen=True)
class Joints(Section):
    """Joint positions, velocities and efforts."""

    NAME = "joint_states"
    topic: str = setting("joint_states", "Topic name.")
    type: str = setting("sensor_msgs/msg/JointState", "Message type.",
                        choices=("sensor_msgs/msg/JointState", "control_msgs/msg/DynamicJointState"))
    delay: float = setting(0.0, "How much later than the truth its stamps are.", "s", -1.0, 1.0)
    timeout: float = setting(0.1, "Without a sample within this time of the tick, its rows are masked.", "s", 0.001)
    effort_scale: tuple = setting((), "Torque or force of one unit of effort, per joint, sign included; empty: 1.", "N m")
    effort_scale_negative: tuple = setting((), "The same for efforts below their offset, where a gear loses more one way than the other; "
                                               "empty: effort_scale. For motor current: torque constant times gear ratio.", "N m")
    effort_offset: tuple = setting((), "Effort at zero torque, per joint, in the topic's unit; empty: 0.")
    effort_masked: tuple = setting((), "Joints whose effort means nothing: their rows are masked.", kind="strings")
    position_offset: tuple = setting((), "Position in the topic at which the URDF's joint is zero, per joint; empty: 0.", "rad")
    rest_velocity: float = setting(0.02, "Slower than this a joint is at rest: Coulomb friction is set-valued, row masked.",
                                   "rad/s", 0.0)
    stop_margin: float = setting(0.02, "Nearer than this to a position limit a joint may lean on its stop: row masked.", "rad", 0.0)
    limits_low: tuple = setting((), "Position at the lower stop, per joint; empty: the URDF's.", "rad")
    limits_high: tuple = setting((), "Position at the upper stop, per joint; empty: the URDF's.", "rad")
    position_stddev: float = setting(0.001, "Noise of a position.", "rad", 1e-9)
    velocity_stddev: float = setting(0.01, "Noise of a velocity.", "rad/s", 1e-9)


@dataclass(frozen=True)
class Thrusters(Section):
    """From the thruster command to the wrench on the vehicle."""

    NAME = "thrusters"
    source: str = setting("thrusters", "Where the wrench comes from: thruster commands, a wrench topic, or 'zero' (drifting).",
                          choices=("thrusters", "wrench", "zero"))
    topic: str = setting("thruster_commands", "Topic of the thruster commands.")
    type: str = setting("std_msgs/msg/Float64MultiArray", "Message type.",
                        choices=("std_msgs/msg/Float64MultiArray", "mavros_msgs/msg/RCOut", "mavros_msgs/msg/OverrideRCIn"))
    wrench_topic: str = setting("wrench", "Topic of the body wrench (geometry_msgs/WrenchStamped).")
    wrench_frame: str = setting("flu", "Axes of that wrench.", choices=("flu", "frd"))
    unit: str = setting("pwm", "Unit of a command: 'pwm' [us], 'normalized' (-1..1) or 'newton'.",
                        choices=("pwm", "normalized", "newton"))
    signs: tuple = setting((1.0,) * 8, "+1 or -1 per thruster: a motor that turns the other way.", "", -1.0, 1.0)
    allocation: tuple = setting(BLUEROV2_HEAVY_ALLOCATION,
                                "6 x N matrix row by row (X Y Z K M N; FRD): wrench of 1 N of each thruster.")
    curve: str = setting("t200", "Thrust curve: 't200', or the path of a CSV with PWM and thrust at one or more voltages.")
    efficiency: tuple = setting((), "Factor on the curve's thrust, per thruster; empty: 1.", "", 0.0, 3.0)
    voltage: float = setting(16.0, "Battery voltage where no battery topic says it.", "V", 6.0, 30.0)
    time_constant: float = setting(0.11, "First-order lag of the rotors.", "s", 0.0, 2.0)
    delay: float = setting(0.0, "Dead time from a command's stamp to the motor.", "s", -1.0, 2.0)
    timeout: float = setting(0.5, "Without a command for this time the wrench is unknown: vehicle rows masked.", "s", 0.01)
    saturation: float = setting(0.98, "Share of the curve's range from which a thruster counts as saturated: row masked.", "", 0.5, 1.1)

    def validate(self) -> None:
        if not self.allocation or len(self.allocation) % 6:
            self.refuse("allocation", f"{len(self.allocation)} numbers", "6 numbers for each thruster, row by row")
        n = len(self.allocation) // 6
        if len(self.signs) != n or any(abs(s) != 1.0 for s in self.signs):
            self.refuse("signs", self.signs, f"{n} numbers, each +1 or -1 (one per thruster of the allocation)")
        if self.efficiency and len(self.efficiency) != n:
            self.refuse("efficiency", self.efficiency, f"nothing or {n} numbers (one per thruster)")


@dataclass(frozen=True)
class Battery(Section):
    """Voltage for the thrust curve."""

    NAME = "battery"
    enabled: bool = setting(False, "Use the measured voltage instead of thrusters.voltage.")
    topic: str = setting("battery", "Topic name.")
    type: str = setting("sensor_msgs/msg/BatteryState", "Message type.", choices=("sensor_msgs/msg/BatteryState",))


@dataclass(frozen=True)
class Filter(Section):
    """From asynchronous signals to samples on the grid, and the low-pass on the rows (DESIGN section 5)."""

    NAME = "filter"
    period: float = setting(0.02, "Period of the grid; ticks are whole multiples of it since the epoch.", "s", 0.001, 1.0)
    latency: float = setting(0.35, "Data time between a tick and its sample: the slowest sensor's lateness plus half a window.", "s", 0.0, 5.0)
    linear_acceleration: str = setting("fused", "Source of the linear acceleration.", choices=("fused", "dvl", "imu"))
    imu_window: float = setting(0.1, "Half width of the local polynomial on IMU signals.", "s", 0.005, 1.0)
    dvl_window: float = setting(1.0, "Half width of the window in which DVL and integrated IMU are joined.", "s", 0.05, 3.0)
    joint_window: float = setting(0.12, "Half width of the local polynomial on joint signals.", "s", 0.01, 1.0)
    lowpass: float = setting(0.07, "Standard deviation in time of the Gaussian low-pass on every column of Y and on tau "
                                   "(0.07: gain 0.91 at 1 Hz).", "s", 0.0, 2.0)
    minimum_share: float = setting(0.5, "Share of the low-pass weight that must be valid for a row to count.", "", 0.01, 1.0)
    gap: float = setting(1.0, "A gap of data time longer than this empties the horizon.", "s", 0.05)


@dataclass(frozen=True)
class Estimation(Section):
    """The moving horizon problem (DESIGN section 6)."""

    NAME = "estimation"
    horizon: int = setting(100, "Samples in the window.", "samples", 1, 20000)
    coupling: str = setting("joint", "How the arm acts on the vehicle: 'joint' (true), 'reaction' (as the paper writes it), 'none'.",
                            choices=("joint", "reaction", "none"))
    base_motion: str = setting("full", "What of the vehicle's motion the arm's model sees: 'full' or 'tilt' (gravity only).",
                               choices=("full", "tilt"))
    grouping: str = setting("sample", "What one Huber norm spans: 'sample' (one instant), 'channel' (one row), 'horizon' (paper).",
                            choices=("sample", "channel", "horizon"))
    rho_quantile: float = setting(0.95, "Huber threshold as quantile of the group's norm under nominal noise; 1: no threshold.",
                                  "", 0.5, 1.0)
    arrival: str = setting("information", "Arrival cost: 'information' (all data, forgetting) or 'relative' (paper).",
                           choices=("information", "relative"))
    forgetting: float = setting(0.9998, "Weight of a row after one tick, to the power of its age (information).", "", 0.9, 1.0)
    forgetting_kind: str = setting("directional", "What fades: 'directional' (only what new data replace), 'uniform' (everything; always so with "
                                                  "coupling 'reaction').", choices=("directional", "uniform"))
    follow_changes: bool = setting(True, "Learn a link or the vehicle anew where it is not what it was, such as with a payload "
                                         "(directional forgetting below 1).")
    information_floor: float = setting(1e-3, "Share of the prior's information that uniform forgetting leaves.", "", 0.0, 1.0)
    prior_stddev: float = setting(1.0, "Standard deviation of the prior, relative to each parameter's size.", "", 1e-6, 1e6)
    relative_weight: float = setting(1.0, "q of the relative arrival cost, Q = diag(q / max(|pi|, eps)^2).", "", 1e-12)
    relative_epsilon: float = setting(1e-2, "eps of the relative arrival cost and of the paper's normalized increments, "
                                            "relative to each parameter's reference scale.", "", 1e-12)
    epsilon: float = setting(1e-4, "Margin of the matrix inequalities (M_v as it is, pseudo-inertias scaled).", "", 0.0, 0.1)
    weight_min: float = setting(90.0, "Lower bound of the vehicle's weight W.", "N", 0.0)
    weight_max: float = setting(180.0, "Upper bound of the vehicle's weight W.", "N", 0.0)
    frozen: tuple = setting((), "Parameters kept at their prior: names or patterns such as 'axis_b.*'.", kind="strings")
    solver: str = setting("auto", "'auto', 'mosek', 'clarabel' or 'cvxpy:<NAME>'.")
    noise_stddev: tuple = setting((), "Initial noise of each channel; empty: 2 N, 0.5 N m and 5 % of the joint's effort limit.", "N, N m", 1e-9)
    adapt_noise: bool = setting(True, "Track each channel's noise from residuals of earlier predictions.")
    noise_time: float = setting(5.0, "Time over which the noise is tracked.", "s", 0.1)

    def validate(self) -> None:
        if self.weight_max < self.weight_min:
            self.refuse("weight_max", self.weight_max, f"at least estimation.weight_min ({self.weight_min:g} N)")
        if self.solver not in ("auto", "mosek", "clarabel") and not self.solver.startswith("cvxpy:"):
            self.refuse("solver", self.solver, "'auto', 'mosek', 'clarabel' or 'cvxpy:<NAME>'")


@dataclass(frozen=True)
class Uncertainty(Section):
    """Covariance of parameters and predictions (DESIGN section 7)."""

    NAME = "uncertainty"
    covariance: str = setting("information", "Source of the parameter covariance: 'information' or 'increments' (paper).",
                              choices=("information", "increments"))
    alpha: float = setting(0.05, "Importance factor of the paper's exponentially weighted covariance.", "", 1e-6, 1.0)
    epsilon: float = setting(1e-12, "Regularization of the paper's covariance.", "", 0.0)


@dataclass(frozen=True)
class Prior(Section):
    """Where the estimate starts."""

    NAME = "prior"
    file: str = setting("", "Parameter file (YAML); empty: bluerov2_wu2018 for the vehicle and the URDF's inertials.")
    friction_viscous: tuple = setting((), "Viscous friction per joint; empty: 2.4 2.2 0.8 0.36 for the Alpha 5, else 1.", "N m s/rad", 0.0)
    friction_coulomb: tuple = setting((), "Coulomb friction per joint; empty: 0.1.", "N m", 0.0)


@dataclass(frozen=True)
class Output(Section):
    """What the node publishes, saves and records."""

    NAME = "output"
    frame: str = setting("flu", "Axes of published wrenches and accelerations.", choices=("flu", "frd"))
    base_frame: str = setting("base_link", "frame_id in FLU; with 'frd' it is followed by '_frd'.")
    directory: str = setting("~/.ros/uvms_adaptive_dynamics", "The one directory that save and load use.")
    file: str = setting("parameters.yaml", "File name in that directory.")
    record: str = setting("", "Record what the node receives into this bag (a folder that does not exist yet); empty: no.")
    covariance_period: float = setting(1.0, "Time between covariance messages.", "s", 0.0)
    diagnostics_period: float = setting(1.0, "Time between diagnostics.", "s", 0.1)


@dataclass(frozen=True)
class Config:
    """All settings; one field per section."""

    robot: Robot = field(default_factory=Robot)
    imu: Imu = field(default_factory=Imu)
    dvl: Dvl = field(default_factory=Dvl)
    depth: Depth = field(default_factory=Depth)
    joint_states: Joints = field(default_factory=Joints)
    thrusters: Thrusters = field(default_factory=Thrusters)
    battery: Battery = field(default_factory=Battery)
    filter: Filter = field(default_factory=Filter)
    estimation: Estimation = field(default_factory=Estimation)
    uncertainty: Uncertainty = field(default_factory=Uncertainty)
    prior: Prior = field(default_factory=Prior)
    output: Output = field(default_factory=Output)

    def __post_init__(self) -> None:
        for section in (self.imu, self.dvl, self.depth):
            for name in ("xyz", "rpy"):
                if len(getattr(section, name, (0, 0, 0))) != 3:
                    section.refuse(name, getattr(section, name), "3 numbers")
        n = len(self.robot.joints)
        for section, names in ((self.joint_states, ("effort_scale", "effort_scale_negative", "effort_offset", "position_offset", "limits_low", "limits_high")),
                               (self.prior, ("friction_viscous", "friction_coulomb"))):
            for name in names:
                got = getattr(section, name)
                if got and len(got) != n:
                    section.refuse(name, got, f"nothing or {n} numbers (one for each of robot.joints)")
        unknown = set(self.joint_states.effort_masked) - set(self.robot.joints)
        if unknown:
            self.joint_states.refuse("effort_masked", sorted(unknown), f"names out of robot.joints {list(self.robot.joints)}")
        channels = n + (6 if self.robot.vehicle else 0)
        if self.estimation.noise_stddev and len(self.estimation.noise_stddev) != channels:
            self.estimation.refuse("noise_stddev", self.estimation.noise_stddev, f"nothing or {channels} numbers (one per channel)")

    def settings(self) -> Iterator[tuple[str, Any, Any]]:
        """`(dotted name, dataclass field, value)` of every setting, in order."""
        for section in fields(self):
            group = getattr(self, section.name)
            for entry in fields(group):
                yield f"{section.name}.{entry.name}", entry, getattr(group, entry.name)

    def with_values(self, values: Mapping[str, Any]) -> "Config":
        """A copy with settings replaced, by dotted name; raises ConfigError for an unknown name or a bad value."""
        known = {name for name, _, _ in self.settings()}
        changes: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f" Did you mean '{near[0]}'?" if near else ""
                raise ConfigError(f"setting '{name}' does not exist.{hint}")
            section, key = name.split(".")
            changes.setdefault(section, {})[key] = value
        return replace(self, **{s: replace(getattr(self, s), **c) for s, c in changes.items()})


# Parameters of every ROS node that a parameter file may hold and that are not ours.
ROS_OWN = ("use_sim_time", "qos_overrides", "start_type_description_service")


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings to dotted names, as ROS does."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def load_config(path: str | Path | None = None, base: Config | None = None) -> Config:
    """Settings from a ROS 2 parameter file (`/**: ros__parameters:` or the node's name), on top of `base`.

    Raises ConfigError for a missing or malformed file, an unknown setting or a bad value.
    """
    base = base or Config()
    if path is None:
        return base
    path = Path(path).expanduser()
    try:
        tree = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"configuration '{path}' cannot be read: {error.strerror or error}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        place = getattr(error, "problem_mark", None)
        where = f" at line {place.line + 1}" if place else ""
        raise ConfigError(f"configuration '{path}' is not valid YAML{where}: {getattr(error, 'problem', error)}.") from None
    if not isinstance(tree, Mapping) or not any(isinstance(v, Mapping) and "ros__parameters" in v for v in tree.values()):
        raise ConfigError(f"configuration '{path}' is not a ROS parameter file; expected '/**: ros__parameters: ...' "
                          f"or '{NODE_NAME}: ros__parameters: ...'.")
    values: dict[str, Any] = {}
    for node, content in tree.items():
        if node == "/**" or str(node).rsplit("/", 1)[-1] == NODE_NAME:
            values.update(flatten((content or {}).get("ros__parameters") or {}))
    values = {k: v for k, v in values.items() if k.split(".")[0] not in ROS_OWN}
    try:
        config = base.with_values(values)
    except ConfigError as error:
        raise ConfigError(f"configuration '{path}': {error}") from None
    return _with_paths_beside(config, path.parent)


def _with_paths_beside(config: Config, folder: Path) -> Config:
    """Relative paths of files count from the configuration's own folder when they exist there."""
    changes = {}
    for name in ("robot.urdf", "prior.file", "thrusters.curve"):
        section, key = name.split(".")
        value = getattr(getattr(config, section), key)
        if value and "://" not in value and not Path(value).is_absolute() and (folder / value).is_file():
            changes[name] = str((folder / value).resolve())
    return config.with_values(changes) if changes else config
