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

"""docs/thresholds.md against the code: it lists every constant of the package that decides
something, with its value."""
import ast
import importlib
import importlib.util
import re
import sys
from functools import cache
from numbers import Real
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "uvms_adaptive_dynamics"
PAGE = ROOT / "docs/thresholds.md"
ROOMS = ("model", "estimation", "uncertainty", "signals", "control", "review", "evaluation",
         "solvers", "ros")
FILES = [path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))
         if "demo" not in path.parts]

# Constants that are no thresholds: units, indices, bins, lengths of buffers and averages, rates,
# polynomial degrees, published figures.
NO_THRESHOLDS = {
    "model/physical_set.py": "VEHICLE_BLOCKS",
    "model/prior.py": "ALPHA5_VISCOUS",
    "model/vehicle_size.py": "BLUEROV2_WU2018 BLUEROV2_WEIGHT POWER_OF_WEIGHT",
    "model/body_functions.py": "DOT LINEAR SQUARE DOWN PRODUCTS FUNCTIONS",
    "model/equations_of_motion.py": "GAMMA",
    "model/error_covariance.py": "STATE_STEP",
    "model/manipulator.py": "OURS_FROM_PINOCCHIO",
    "model/parameter_checks.py": "LARGEST_ROW_COUNT",
    "model/parameter_draws.py": "DRAWN_AT_ONCE",
    "model/parameter_file.py": "LARGEST_PARAMETER_FILE OLDER_CAUSES PARAMETER_SCHEMA "
                               "PARAMETER_LINE_WIDTH",
    "model/parameter_set.py": "CAUSES",
    "model/parameters.py": "INERTIA_PLACES",
    "model/pseudo_inertia.py": "BASIS TENSOR_PLACES",
    "model/robot.py": "SPEED_STEP",
    "model/robot_identity.py": "LONGEST_ROBOT_NAME",
    "model/rotations.py": "NED_FROM_ENU FRD_FROM_FLU IDENTITY",
    "model/term_sets/link_drag.py": "_YZX STRIP_PLACES STRIP_WEIGHTS",
    "model/term_sets/vehicle_sets.py": "COUPLED_AXES",
    "model/urdf.py": "LARGEST_URDF LARGEST_URDF_VALUE",
    "model/vehicle.py": "_LINEAR_ONES _ZERO _DEGREES _W _B _H _CHANGES _CROSS _KM _COEFFICIENTS "
                        "CURRENT_STEP",
    "control/stage_entry.py": "RANGES",
    "control/stage_knowledge.py": "KNOWLEDGE_PERIOD LEAST_VARIANCE",
    "control/stages.py": "LARGEST_SCHEDULE_FILE MOST_STAGES",
    "control/state_filter.py": "FILTER_HISTORY",
    "control/bands.py": "HALVINGS",
    "control/excitation/design.py": "POSTURES",
    "control/excitation/prior_knowledge.py": "RESTING_PLACES WEIGHING_ROUNDS PROJECTIONS",
    "control/excitation/noise.py": "NOISE_ROUNDS",
    "control/excitation/objective.py": "INSTANTS_PER_PERIOD",
    "control/excitation/passive_tilt.py": "TILT RATE ACCELERATION",
    "control/excitation/rows.py": "DIFFERENCE_STEP",
    "control/excitation/trajectory.py": "MOST_NAMED",
    "control/motion_guard.py": "HORIZONTAL",
    "control/excitation/trajectory_file.py": "TRAJECTORY_SCHEMA LARGEST_TRAJECTORY_FILE "
                                             "LARGEST_TRAJECTORY_VALUE",
    "control/planned.py": "MOST_ROWS",
    "control/twin.py": "INTEGRATION_STEP DRAWS",
    "control/unexplained.py": "BAND_STEP",
    "control/wanted_motion.py": "MOST_AHEAD",
    "estimation/change_evidence.py": "REWEIGHTINGS",
    "estimation/changes.py": "CHANGE_CHECK_PERIOD KNOWLEDGE_KEPT",
    "estimation/checkpoints.py": "CHECKS_REMEMBERED",
    "estimation/estimator.py": "SOLVE_AGAIN",
    "estimation/onset.py": "ONSET_BLOCK ONSET_STRIDE",
    "estimation/estimate_uncertainty.py": "REFRESHED_GROWTH",
    "estimation/information.py": "REWEIGH_EVERY TILTS",
    "estimation/learned_spans.py": "JOINED MOST MARK_PERIOD MOST_MARKS STAMP_ERROR",
    "estimation/row_excitation.py": "REFERENCE_SPACING REFERENCES_KEPT",
    "estimation/payload.py": "GAUSS_NEWTON_STEPS",
    "estimation/saved_state.py": "BACKUPS_KEPT",
    "estimation/square_root_information.py": "WAITING_ROWS BLOCK_COLUMNS LEAST_FADED",
    "estimation/window.py": "REFORM",
    "model/normal.py": "NORMAL_MEDIAN",
    "uncertainty/added_direction.py": "REWEIGHING_ROUNDS ADDED_RIDGE",
    "uncertainty/gradient_covariance.py": "LAG_STRIDE BATCH",
    "uncertainty/driven_motion.py": "STEP",
    "uncertainty/lacking_gradient.py": "EVERY",
    "uncertainty/systematic_gradient.py": "CALIBRATION NOISE DRIVEN UNSEEN_SHARE",
    "estimation/recent_rows.py": "COVARIANCE_ROWS VARIANCES_FORMED",
    "uncertainty/null_space.py": "TERMS",
    "uncertainty/parameter_flags.py": "FAR NARROW",
    "uncertainty/constrained_inverse.py": "EQUALITY_PUSH FAR_OUTSIDE",
    "uncertainty/motion_noise.py": "AXES COLUMNS_EVERY CORRELATED FIRST FULL NOISIER RECENT THIRD",
    "uncertainty/noise_scale.py": "BINS_PER_OCTAVE OCTAVES SCALE_EVERY",
    "uncertainty/parameter_covariance.py": "PENDING",
    "uncertainty/residual_autocovariance.py": "TIME_CONSTANTS TRACKED_LAGS FIT_EVERY",
    "uncertainty/trust.py": "TRUST_OK TRUST_DOUBTFUL TRUST_WRONG EFFORT_MEMORY ROWS SQUARES "
                            "NORMALIZED_SQUARES EXPECTED_SQUARES M P MM PP MP",
    "signals/filter_chain.py": "THRUST_LOG_TICKS",
    "signals/front_end.py": "LONGEST_WAIT",
    "signals/replay.py": "KEPT_SECONDS MOST_KEPT AT_ONCE ATTITUDES_KEPT ATTITUDE_AGE",
    "signals/latest_state.py": "VELOCITY_HISTORY ZERO",
    "signals/ticks.py": "MAX_TICKS_AT_ONCE",
    "signals/checks/delay.py": "MIN_SHIFT MAX_SHIFT SHIFT_STEP SHIFTS ROW_STRIDE "
                               "FIRST_ESTIMATE ESTIMATE_PERIOD MONITORED",
    "signals/checks/dvl_check.py": "CUT_STEP",
    "signals/checks/effort_scale.py": "LOAD_PERIOD",
    "signals/checks/carried_load.py": "CARRIED",
    "signals/checks/gravity_direction.py": "AS_SET_DOWN STARTS ROUNDS",
    "signals/filters/attitude.py": "STORED_PERIOD",
    "signals/decode/joint_parts.py": "READINGS_KEPT",
    "signals/gates/velocity_fit.py": "READINGS_SPACING READINGS_MEMORY JUDGE_PERIOD DEGREES",
    "signals/checks/finding.py": "CHANGE_WINDOW",
    "signals/checks/fits.py": "RIDGE_SHARE TRIED_SHIFTS SIGNED_AXES",
    "signals/checks/frames.py": "FIRST_CHECK CHECK_PERIOD EARLY_CHECKS LATE_CHECK_PERIOD "
                                "LOG_LENGTH RECENT_DATA LATEST_DATA CHECK_STEP_PERIOD "
                                "ONSET_STEP SHORTEST_COMPARED",
    "signals/checks/thrust_share.py": "TRIED_SHARES",
    "signals/checks/imu_check.py": "TURN_WINDOW FORCE_BATCH FIRST_RATE",
    "signals/checks/effort_sign.py": "ROWS_PER_WINDOW SIGN_STEPS",
    "signals/checks/joint_effort_check.py": "EFFORT_WINDOW",
    "signals/checks/joint_velocity_check.py": "JOINT_WINDOW",
    "signals/checks/quaternion_check.py": "INVERTED QUATERNION_ORDERS TRIED_ORDERS",
    "signals/checks/response_check.py": "FINER",
    "signals/checks/thruster_check.py": "MAX_THRUSTERS",
    "signals/checks/thruster_windows.py": "PULL_STEP",
    "signals/checks/weak_thruster.py": "MOST_ALIKE REWEIGHTED",
    "signals/checks/wirings.py": "MIRRORED POINTING",
    "signals/checks/velocity_map.py": "AT_IMU STIFFNESSES CORRECTIONS SETTLED MOST_LAG "
                                       "NEARLY_SINGULAR LEAST LEVEL_AXES",
    "signals/decode/clocks.py": "REVIEW_PERIOD",
    "signals/decode/input_state.py": "OK WARN ERROR MOST_DOUBTS",
    "signals/decode/readings.py": "MOST_HELD",
    "signals/decode/sensor_clock.py": "BUCKET BUCKETS TOLD_IN_DAYS",
    "signals/decode/stamp_intervals.py": "PERIOD_INTERVALS",
    "signals/decode/decoder.py": "UNKNOWN_VECTOR PASCAL",
    "signals/decode/turns.py": "TURN",
    "signals/filters/attitude_source.py": "LEVEL_DOWN",
    "signals/filters/depth.py": "DEPTH_LOOKAHEAD",
    "signals/filters/expected_attitude.py": "ATTITUDE_SPACING",
    "signals/filters/gyro_bias.py": "COMPARISONS",
    "signals/filters/imu_integral.py": "YAW SERIES_COLUMNS",
    "signals/filters/dvl_fusion.py": "DVL_DEGREE MAX_DVL_QUEUE HALF_BRIDGE",
    "signals/filters/imu_trust.py": "NO_TURN",
    "signals/filters/inertial.py": "IMU_DEGREE IMU_LOG_PERIOD",
    "signals/filters/joints.py": "JOINT_DEGREE JOINT_LOG_PERIOD",
    "signals/filters/series.py": "CAPACITY",
    "model/t200_table.py": "T200_KNOTS",
    "model/thrust_curve.py": "NEUTRAL_PWM_US PWM_SPAN_US DEAD_ZONE_EDGE LARGEST_CURVE_FILE "
                             "MOST_THRUST",
    "signals/filters/thrusters.py": "COMMAND_INTERVALS",
    "signals/filters/velocity_offset.py": "TYPICAL_DVL_PERIOD",
    "signals/gates/contradictions.py": "SPANS_KEPT",
    "signals/gates/innovations.py": "INNOVATION_SCALE_STEP",
    "signals/gates/repeats.py": "PAIRS_REMEMBERED PRIOR_PAIRS",
    "signals/gates/scale.py": "SCALE_STEP",
    "signals/gates/spikes.py": "SPIKE_NEIGHBOURS LOOKAHEAD CURVATURE_OF_NOISE",
    "review/arm_check.py": "CHECKED_EVERY CHECKED_SECONDS JOINT_NUDGE",
    "review/arm_exchange.py": "COMPARED_SAMPLES EXCHANGE_STRIDE ZEROS",
    "review/arm_mount.py": "QUARTER_TURNS AS_SET",
    "evaluation/batch/content.py": "READ_SIZE",
    "evaluation/batch/executors.py": "CONNECT RETRIES",
    "evaluation/batch/plan.py": "LARGEST_PLAN_FILE MOST_VARIANTS",
    "evaluation/batch/store.py": "BATCH_SCHEMA LARGEST_TASK LARGEST_BATCH",
    "evaluation/batch/table.py": "LONGEST_REASON",
    "evaluation/canvas.py": "FIGURE_WIDTH",
    "evaluation/convert_command.py": "MESSAGE_BYTES NUMBER_BYTES",
    "evaluation/drift_check.py": "LARGEST_FIT ROWS_APART",
    "evaluation/failures.py": "MOST_KINDS",
    "review/fitted_current.py": "CURRENT_STEPS",
    "evaluation/inspection/motion.py": "CHECK_ROUNDS",
    "evaluation/inspection/raw_values.py": "MOST_ORDERS",
    "evaluation/inspection/survey.py": "SURVEYED_SECONDS MOST_MESSAGES",
    "review/effort_size.py": "NEXT_TO_ONE",
    "evaluation/logs/autopilot.py": "NO_ORIENTATION",
    "evaluation/logs/csv_columns.py": "SNIFFED MOST_NAMES",
    "evaluation/logs/dataflash.py": "LEAP_SECONDS GPS_EPOCH WEEK",
    "evaluation/logs/fields.py": "NAME_KIND BASE_KIND",
    "evaluation/logs/kinds.py": "LARGEST_LOG_FILE",
    "evaluation/logs/mapped.py": "MOST_FILES UNITS LARGEST_MAPPING_FILE LATEST_TIME "
                                "EARLIEST_STAMP",
    "evaluation/logs/telemetry.py": "OVERHEAD_1 OVERHEAD_2 MAGIC_1 MAGIC_2 SIGNATURE WRAP_US "
                                    "AUTOPILOT MILLI_G UNKNOWN_VOLTAGE",
    "evaluation/page_data.py": "PARAMETER_POINTS CHANNEL_VALUES",
    "evaluation/parity.py": "POINTS SIZE",
    "evaluation/prepared.py": "SAMPLES_AHEAD",
    "processes.py": "MOST_SAID ITEM END REFUSAL",
    "evaluation/recording.py": "MOST_REASON",
    "evaluation/report_tables.py": "PIECES SHORTEST_PIECE",
    "evaluation/rosbag_file.py": "LATEST_NS",
    "evaluation/run_files.py": "TIME_BYTES CHANNEL_BYTES ARM_BYTES OTHER_BYTES",
    "evaluation/run_log.py": "TRAJECTORY_POINTS CHUNK_ROWS MEMORY_LIMIT",
    "evaluation/run_record.py": "RUN_SCHEMA",
    "evaluation/scene.py": "MAX_POINTS BETWEEN_BAGS",
    "evaluation/unfinished.py": "DATA_END CHUNK_INDEX STATISTICS CHUNK FOOTER MESSAGE_INDEX",
    "solvers/cvxpy_solver.py": "OPTIONS",
    "solvers/mosek_solver.py": "ATTEMPTS FEWEST_CONES",
    "solvers/native/cones.py": "SIDE",
    "solvers/native/faces.py": "EYE",
    "solvers/native/interior_point.py": "_EYE",
    "solvers/native/robust_cost.py": "UNIT_ROUNDING QUARTER",
    "solvers/warm_up.py": "WARM_UP_OUTLIER SAMPLES WARM_UP_NOISE",
    "ros/command_channels.py": "RC_CHANNELS RC_NO_CHANGE",
    "ros/description.py": "DESCRIPTION_WARNING_S",
    "ros/design_process.py": "LARGEST_REQUEST",
    "ros/estimator_node.py": "EVENT_PERIOD_S",
    "ros/feedforward_node.py": "SLOW_PERIOD",
    "ros/flight.py": "NEUTRAL_S COMMANDS_LOOK_S",
    "ros/identification_node.py": "DRY_RUN_WARNING_S STAGE_LOOK_S ANSWER_S",
    "ros/identification_status.py": "SAME_STATUS_S MOST_USES",
    "ros/memory.py": "EXIT_TIMEOUT_S COPY_TIMEOUT_S LOCK_TIMEOUT_S",
    "ros/messages.py": "FLU_SIGNS",
    "ros/motion_designer.py": "PATIENCE START_S",
    "ros/node_log.py": "DISCOVERY_S DELIVERY_S",
    "ros/node_stages.py": "SAY_EVERY",
    "ros/parameter_outputs.py": "STATUS_PERIOD_S SILENCE_LOOK_S ROUNDING_S",
    "ros/payload_output.py": "PERIOD_S",
    "ros/plans.py": "PLAN_COLUMNS",
    "ros/process.py": "SIGNAL_PERIOD WIND_DOWN_S",
    "ros/recorder.py": "LEAST_FREE RESERVE FLUSH_S",
    "ros/ros_parameters.py": "INT_MAX",
    "ros/services.py": "LONGEST_FILE_NAME",
    "ros/settings_node.py": "NAMESAKES_S",
    "ros/subscriptions.py": "SENSOR_DEPTH MOST_PUBLISHERS",
    "ros/twin_node.py": "WATCH_S",
    "ros/unused_data.py": "MOST_LISTED",
    "ros/worker.py": "TIMES_KEPT SWITCH_S CALL_TIMEOUT_S",
}


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def numeric(value) -> bool:
    """Whether this is a number or a collection of numbers."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiu"
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return bool(value) and all(map(numeric, value))
    return isinstance(value, Real) and not isinstance(value, bool)


def assigned(source: str) -> set[str]:
    """ALL_CAPS names assigned at module level."""
    found = set()
    for line in ast.parse(source).body:
        if isinstance(line, (ast.Assign, ast.AnnAssign)):
            targets = line.targets if isinstance(line, ast.Assign) else [line.target]
            found |= {name.id for target in targets for name in ast.walk(target)
                      if isinstance(name, ast.Name)}
    return {name for name in found if re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name)}


def constants(path: Path) -> dict:
    """Numeric constants of a module, with their values."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    values = vars(importlib.import_module(name))
    return {each: values[each] for each in assigned(path.read_text()) if numeric(values[each])}


def rows(page: str) -> dict[str, dict[str, str]]:
    """{file: {constant: value as written}} of the page."""
    found: dict[str, dict[str, str]] = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if heading := re.fullmatch(r"### `(.+)`", line):
            found[heading[1]] = {}
        elif found and line.startswith("| `"):
            names, values = (cells[k].split("; ") for k in (0, 1))
            assert len(names) == len(values), f"{line}: as many values as names"
            found[list(found)[-1]] |= {name.strip("`"): value.strip("`")
                                       for name, value in zip(names, values)}
    return found


@cache
def written() -> dict[str, dict[str, str]]:
    return rows(PAGE.read_text())


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_every_threshold_is_on_the_page(path):
    """A constant is either on the page or among those that are no thresholds."""
    none, page = set(NO_THRESHOLDS.get(relative(path), "").split()), written().get(relative(path))
    own = set(constants(path))
    assert own - none == set(page or ())
    assert none <= own


@pytest.mark.parametrize("path", [path for path in FILES if relative(path) in written()],
                         ids=relative)
def test_values_on_the_page_are_those_of_the_code(path):
    """A value is a Python literal, or in words if it is a table or computed."""
    values = constants(path)
    for name, shown in written()[relative(path)].items():
        if not shown.startswith("*"):
            assert values[name] == pytest.approx(ast.literal_eval(shown)), name


def test_no_file_on_the_page_is_of_another_room():
    assert set(written()) <= set(map(relative, FILES))


def test_a_constant_that_is_missing_is_found():
    """The parser sees tuples, annotations and names with an underscore, but no functions."""
    source = "A, B_2 = 1.0, 2\n_C: float = 3.0\nd = 4.0\n\ndef f():\n    E = 5.0\n"
    assert assigned(source) == {"A", "B_2", "_C"}
    assert rows("### `x.py`\n\n| a | b |\n| `A`; `B` | `1.0`; `2` | text |\n") == {
        "x.py": {"A": "1.0", "B": "2"}}


@pytest.fixture(scope="module")
def script():
    """docs/measure_thresholds.py as a module."""
    spec = importlib.util.spec_from_file_location("measure_thresholds",
                                                  ROOT / "docs/measure_thresholds.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_what_is_measured_is_on_the_page(script):
    measured = {(module.replace(".", "/") + ".py", name) for module, name, _ in script.CONSTANTS}
    assert measured <= {(file, name) for file, names in written().items() for name in names}


def test_a_patched_constant_is_changed_where_it_was_imported(script):
    """And where it is declared, until the end of the patch."""
    from uvms_adaptive_dynamics.estimation import estimator
    from uvms_adaptive_dynamics.model import normal
    from uvms_adaptive_dynamics.uncertainty import channel_noise

    def held():
        return normal.Z95, channel_noise.Z95, estimator.SAME_INSTANT
    z, _, instant = before = held()
    with script.patched("model.normal", "Z95", script.times, 1.5):
        assert held() == (1.5 * z, 1.5 * z, instant)
    with script.patched("estimation.estimator", "SAME_INSTANT", script.times, 1.5):
        assert held() == (z, z, 1.5 * instant)
    assert held() == before


def test_the_clipped_mean_follows_its_clip(script):
    """The scale stays correct for Gaussian noise when the clip changes."""
    from uvms_adaptive_dynamics.uncertainty import channel_noise, noise_scale
    assert abs(script.winsor_mean(noise_scale.WINSOR) - noise_scale.WINSOR_MEAN) < 5e-5
    with script.patched("uncertainty.noise_scale", "WINSOR", script.times, 1.5):
        assert script.winsor_mean(3.0) == noise_scale.WINSOR_MEAN == channel_noise.WINSOR_MEAN


@pytest.mark.parametrize("value, larger", [(0.3, 0.45), (0.75, 1.0), (5, 8), (2.0, 3.0),
                                           ((1.0, 2.0), (1.5, 3.0))])
def test_a_factor_keeps_what_a_constant_is(script, value, larger):
    """Shares stay at most one, integers stay integers, tuples stay tuples."""
    assert script.times(value, 1.5) == pytest.approx(larger)
    assert type(script.times(value, 1.5)) is type(value)
