"""Services of the node: reset, enable, save, load, next_stage."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ..config import Config, Output
from ..disk.kinds import reason_of, special_kind
from ..errors import ParameterError, UvmsError
from ..model.parameter_file import ParameterSet, load_parameters, save_parameters
from ..model.parameters import ParameterTable
from .worker import Worker


class NodeServices:
    """Every answer is a sentence; what fails is `success=False` with the reason, and the node
    goes on."""

    def __init__(self, node: Node, worker: Worker, table: ParameterTable,
                 get_config: Callable[[], Config], restart_front_end: Callable[[], None]):
        """`get_config`: the settings as they are now, since output.file may change. Raises
        ParameterError where output.directory cannot be a folder."""
        self._log, self._worker, self._table = node.get_logger(), worker, table
        self._config, self._restart_front_end = get_config, restart_front_end
        parameter_folder(get_config().output)     # refused at start, not at the end of a dive
        for name, action in (("reset", self._reset), ("save", self._save), ("load", self._load),
                             ("next_stage", self._next_stage)):
            node.create_service(Trigger, f"~/{name}", self._answering(name, action))
        node.create_service(SetBool, "~/enable", self._answering("enable", self._enable))

    def _answering(self, name: str, action: Callable[[Any], str]) -> Callable:
        def answer(request, response):
            try:
                response.success, response.message = True, action(request)
                self._log.info(response.message)
            except UvmsError as error:
                response.success, response.message = False, f"~/{name} failed: {error}"
                self._log.warning(response.message)
            return response
        return answer

    def _reset(self, request) -> str:
        self._restart_front_end()
        self._worker.call(lambda estimator: estimator.restart())
        file = self._config().prior.file
        start = f"prior file '{file}'" if file else "built-in prior"
        return f"Estimate reset to the {start}; all data are forgotten, estimating anew."

    def _enable(self, request) -> str:
        def switch(estimator) -> bool:
            before, estimator.learn = estimator.learn, request.data
            if request.data and not before:
                estimator.break_off()  # the window must not span the pause
            return before
        before = self._worker.call(switch)
        if before == request.data:
            return f"Estimation was {'on' if before else 'off'} already; nothing changed."
        return ("Estimation is on: parameters follow the data again." if request.data else
                "Estimation is off: parameters stay as they are, predictions go on. "
                "~/enable with true resumes it.")

    def _save(self, request) -> str:
        path = parameter_path(self._config().output)
        parameters = self._worker.call(lambda estimator: estimator.parameter_set())
        return f"Saved {_contents(parameters)} to '{save_parameters(path, parameters)}'."

    def _load(self, request) -> str:
        path = parameter_path(self._config().output)
        parameters = load_parameters(path).for_table(self._table, f"parameter file '{path}'")
        self._worker.call(lambda estimator: estimator.restart(parameters))
        return (f"Loaded {_contents(parameters)} from '{path}'; all data are forgotten, estimating "
                f"from there. {_defaults(parameters)}").rstrip()

    def _next_stage(self, request) -> str:
        raise UvmsError("no schedule is configured; all parameters that are not frozen are "
                        "estimated together.")


def parameter_folder(output: Output) -> Path:
    """output.directory, which need not exist; raises ParameterError where no folder can be."""
    try:
        directory = Path(output.directory).expanduser().resolve()
        kind = special_kind(directory)
        in_the_way = next((part for part in (directory, *directory.parents)
                           if part.exists() and not part.is_dir()), None)
    except NotADirectoryError:
        kind, in_the_way = "", directory
    except (OSError, RuntimeError, ValueError) as error:  # no home folder; a NUL in the name
        raise ParameterError(f"setting 'output.directory' is '{output.directory}', which is no "
                             f"folder: {reason_of(error)}.") from None
    if in_the_way:
        raise ParameterError(f"setting 'output.directory' is '{output.directory}', where "
                             f"'{in_the_way}' is {kind or 'a file'}; expected a folder that is "
                             "there or can be made.")
    return directory


def parameter_path(output: Output) -> Path:
    """The file of save and load; raises ParameterError where it is not inside output.directory."""
    directory = parameter_folder(output)
    path = (directory / output.file).resolve()
    if not output.file or path == directory or not path.is_relative_to(directory):
        raise ParameterError(
            f"setting 'output.file' is {output.file!r}, which is no file inside output.directory "
            f"'{directory}'; expected a plain file name such as 'parameters.yaml'.")
    return path


def _contents(parameters: ParameterSet) -> str:
    """What the set holds: '75 parameters (56 measured, ...), their covariance and ...'."""
    counts = Counter(parameters.known_from)
    words = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    parts = [f"{len(parameters.names)} parameters" + (f" ({words})" if words else "")]
    if parameters.covariance is not None:
        parts.append("their covariance")
    if parameters.noise_stddev is not None:
        parts.append(f"the noise of {len(parameters.noise_stddev)} channels")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _defaults(parameters: ParameterSet) -> str:
    """What stands in for that which a file does not have."""
    missing = [words for found, words in (
        (parameters.covariance, "no covariance: estimation.prior_stddev is used"),
        (parameters.noise_stddev, "no noise: estimation.noise_stddev is used")) if found is None]
    return f"The file has {' and '.join(missing)}." if missing else ""
