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

"""Services of the node: reset, enable, save, save_as, load, load_from, parameter_file,
next_stage, run_stages, statement, gripped, released."""
from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from diagnostic_msgs.srv import AddDiagnostics
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ..config import AUTO, Config, Output
from ..disk.kinds import reason_of, special_kind
from ..errors import ParameterError, UvmsError, brief, in_words
from ..estimation.grip import note_grip, note_release
from ..estimation.saved_state import STATE, dated, set_aside
from ..model.parameter_file import load_parameters, parameter_text, save_parameters
from ..model.parameter_set import ParameterSet
from ..model.parameters import ParameterTable
from ..model.sample import channel_names
from ..uncertainty.statement import first_lines
from .memory import Memory
from .node_stages import NodeStages
from .statements import STATEMENT_FILE, Statements
from .validity import failure
from .worker import Worker

LONGEST_FILE_NAME = 100  # well below the 255 bytes of a file system
STILL_OFF = "Estimation is off: these values stay until ~/enable is called with true."


class NodeServices:
    """Every answer is a sentence; a failure gives `success=False` with the reason, and the node
    continues."""

    def __init__(self, node: Node, worker: Worker, table: ParameterTable,
                 get_config: Callable[[], Config], restart_front_end: Callable[[], None],
                 memory: Memory, statements: Statements, stages: NodeStages,
                 forget_predictions: Callable[[], None]):
        """get_config: returns the present settings, since output.file may change.
        forget_predictions: drops the predictions so far, which do not judge another estimate.
        """
        self._log, self._worker, self._table = node.get_logger(), worker, table
        self._config, self._restart_front_end = get_config, restart_front_end
        self._memory, self._statements, self._stages = memory, statements, stages
        self._forget_predictions = forget_predictions
        for name, action in (("reset", self._reset), ("save", self._save), ("load", self._load),
                             ("statement", self._statement), ("released", self._released)):
            node.create_service(Trigger, f"~/{name}", self._answering(name, action))
        # the stages log their own ends
        node.create_service(Trigger, "~/next_stage", self._answering(
            "next_stage", self._next_stage, logged=False))
        # for programs: several hundred kilobytes do not belong in a log
        node.create_service(Trigger, "~/parameter_file", self._answering(
            "parameter_file", self._parameter_file, logged=False))
        for name, switch in (("enable", self._enable), ("run_stages", self._run_stages)):
            node.create_service(SetBool, f"~/{name}", self._answering(name, switch))
        # The only standard service that takes a string and answers like Trigger.
        for name, action in (("save_as", self._save_as), ("load_from", self._load_from),
                             ("gripped", self._gripped)):
            node.create_service(AddDiagnostics, f"~/{name}", self._answering(name, action))

    def _answering(self, name: str, action: Callable[[Any], str], logged: bool = True) -> Callable:
        def answer(request, response):
            try:
                response.success, response.message = True, action(request)
                if logged:
                    self._log.info(response.message)
            except Exception as error:  # whatever the error, the node must continue and report it
                response.success = False
                response.message = f"~/{name} failed: {in_words(error)}"
                if isinstance(error, (UvmsError, OSError)):     # (a folder that cannot be read)
                    self._log.warning(response.message)
                else:
                    self._log.error(f"{response.message}\n{traceback.format_exc()}")
            return response
        return answer

    def _reset(self, request) -> str:
        learns = self._restart(None)
        self._restart_front_end()
        file = self._config().prior.file
        start = f"prior file '{file}'" if file not in ("", AUTO) else "built-in prior"
        return f"Estimate reset to the {start}; all data were dropped" + (
            ", estimating from scratch." if learns else f". {STILL_OFF}")

    def _enable(self, request) -> str:
        def switch(estimator) -> bool:
            before = estimator.learn
            estimator.set_learning(request.data)
            if request.data != before:
                self._forget_predictions()      # rows were learnt before, or will be
            return before
        before = self._worker.call(switch)
        if before == request.data:
            return f"Estimation was already {'on' if before else 'off'}; nothing changed."
        return ("Estimation is on: parameters follow the data again." if request.data else
                "Estimation is off: parameters are frozen, predictions continue. "
                "Call ~/enable with true to resume.")

    def _save(self, request) -> str:
        path = parameter_path(self._memory.folder, self._config().output.file)
        if path.parent == self._memory.folder.resolve() and is_own(path.stem):
            raise ParameterError(f"setting 'output.file' is '{path.name}', which is reserved for "
                                 "the node's own files; expected a name such as 'parameters.yaml'.")
        return self._save_to(path)

    def _save_as(self, request) -> str:
        return self._save_to(self._memory.folder / file_name(request.load_namespace))

    def _parameter_file(self, request) -> str:
        return parameter_text(dated(self._worker.call(lambda estimator: estimator.parameter_set())))

    def _save_to(self, path: Path) -> str:
        parameters = dated(self._worker.call(lambda estimator: estimator.parameter_set()))
        richer = set_aside(path, parameters)
        said = f"Saved {_contents(parameters)} to '{save_parameters(path, parameters)}'."
        if richer is not None:
            said += f" The file before knew more; it is kept as '{richer.name}'."
        channels = channel_names(self._table.vehicle, self._table.joints)
        if failed := failure(self._worker, channels):
            said += f" The estimator has failed: {failed}."
        return said

    def _load(self, request) -> str:
        output = self._config().output
        path = parameter_path(self._memory.folder, output.file)
        # Version 0.1.0 saved here, with one folder for all robots.
        before = parameter_folder(output) / output.file
        return self._load_path(before if before.is_file() and not path.exists() else path)

    def _load_from(self, request) -> str:
        folder = self._memory.folder
        path = folder / file_name(request.load_namespace, of_node=True)
        if not path.is_file():
            there = sorted(file.stem for file in folder.glob("*.yaml"))
            raise ParameterError(f"'{path}' does not exist; expected one of "
                                 f"{', '.join(there) or 'none: nothing has been saved yet'}.")
        return self._load_path(path)

    def _load_path(self, path: Path) -> str:
        parameters = load_parameters(path).for_table(self._table, f"parameter file '{path}'")
        learns = self._restart(parameters)
        then = ", estimating from these values." if learns else f". {STILL_OFF}"
        return (f"Loaded {_contents(parameters)} from '{path}'; all data were dropped{then} "
                f"{_defaults(parameters)}").rstrip()

    def _restart(self, parameters: ParameterSet | None) -> bool:
        """Restart from parameters, or from the prior; the state before is saved. Returns whether
        the estimator learns."""
        def restart(estimator) -> bool:
            self._memory.keep(estimator)
            estimator.restart(parameters)
            self._forget_predictions()
            self._stages.restart()
            return estimator.learn
        return self._worker.call(restart)

    def _statement(self, request) -> str:
        path, made = self._statements.write()
        return f"{path}\n{first_lines(made.verdict.document(), made.next)}"

    def _gripped(self, request) -> str:
        name = request.load_namespace.strip()
        if len(name) > LONGEST_FILE_NAME:
            raise UvmsError(f"load_namespace is {brief(name)}; expected the name of the gripped "
                            f"object, up to {LONGEST_FILE_NAME} characters, or nothing.")
        return self._worker.call(lambda estimator: note_grip(estimator, name))

    def _released(self, request) -> str:
        return self._worker.call(note_release)

    def _run_stages(self, request) -> str:
        return self._worker.call(lambda estimator: self._stages.run(request.data))

    def _next_stage(self, request) -> str:
        return self._worker.call(lambda estimator: self._stages.next())


def parameter_folder(output: Output) -> Path:
    """output.directory, which need not exist; raises ParameterError if it cannot be a folder."""
    try:
        directory = Path(output.directory).expanduser().resolve()
        kind = special_kind(directory)
        in_the_way = next((part for part in (directory, *directory.parents)
                           if part.exists() and not part.is_dir()), None)
    except NotADirectoryError:
        kind, in_the_way = "", directory
    except (OSError, RuntimeError, ValueError) as error:  # no home folder; a NUL in the name
        raise ParameterError(f"setting 'output.directory' is '{output.directory}', which is not a "
                             f"folder: {reason_of(error)}.") from None
    if in_the_way:
        raise ParameterError(f"setting 'output.directory' is '{output.directory}', where "
                             f"'{in_the_way}' is {kind or 'a file'}; expected a folder that "
                             "exists or can be created.")
    return directory


def parameter_path(folder: Path, file: str) -> Path:
    """Path of output.file, for save and load; raises ParameterError if it is not inside the robot's
    folder."""
    folder = folder.resolve()
    path = (folder / file).resolve()
    if (not file or path == folder or not path.is_relative_to(folder)
            or path.name.startswith(".")):      # the folder's lock is hidden
        raise ParameterError(
            f"setting 'output.file' is {file!r}, which is not a file inside the robot's folder in "
            f"output.directory, '{folder}'; expected a plain file name such as 'parameters.yaml'.")
    return path


def file_name(name: str, of_node: bool = False) -> str:
    """File name for a name given to save_as or load_from.

    Raises ParameterError unless it is a plain name, and, without `of_node`, for names of the node's
    own files.
    """
    stem = name.removesuffix(".yaml")
    plain = re.fullmatch(r"[\w-][\w .+-]*", stem) and len(stem) <= LONGEST_FILE_NAME
    own = not of_node and is_own(stem)
    if not plain or own:
        why = "reserved for the node's own files" if own else "not a file name"
        raise ParameterError(
            f"load_namespace is {brief(name)}, which is {why}; expected a name such as "
            "'pool_2026' ('.yaml' is added): letters, digits and _ - + . in up to "
            f"{LONGEST_FILE_NAME} characters, without a folder.")
    return f"{stem}.yaml"


def is_own(stem: str) -> bool:
    """Whether the node itself writes and replaces a file of this name: a state or a statement."""
    return re.match(rf"({Path(STATE).stem}|{STATEMENT_FILE})(\.|$)", stem) is not None


def _contents(parameters: ParameterSet) -> str:
    """Contents of a set: '75 parameters (56 measured, ...), their covariance and ...'."""
    counts = Counter(parameters.known_from)
    words = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    parts = [f"{len(parameters.names)} parameters" + (f" ({words})" if words else "")]
    if parameters.covariance is not None:
        parts.append("their covariance")
    if parameters.noise_stddev is not None:
        parts.append(f"the noise of {len(parameters.noise_stddev)} channels")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _defaults(parameters: ParameterSet) -> str:
    """The defaults used for what a file does not contain."""
    missing = [words for found, words in (
        (parameters.covariance, "no covariance: estimation.prior_stddev is used"),
        (parameters.noise_stddev, "no noise: estimation.noise_stddev is used")) if found is None]
    return f"The file has {' and '.join(missing)}." if missing else ""
