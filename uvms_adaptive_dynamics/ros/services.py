"""Services of the node: reset, enable, save, load, next_stage (DESIGN section 10)."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ..config import Output
from ..errors import ParameterError, UvmsError
from ..model.parameter_file import load_parameters, save_parameters
from .worker import Worker


class NodeServices:
    """Every answer is a sentence; what goes wrong is `success=False` with the reason, and the node goes on."""

    def __init__(self, node: Node, worker: Worker, restart_front_end: Callable[[], None]):
        self._node, self._worker, self._restart_front_end = node, worker, restart_front_end
        for name, action in (("reset", self._reset), ("save", self._save), ("load", self._load), ("next_stage", self._next_stage)):
            node.create_service(Trigger, f"~/{name}", self._answering(action))
        node.create_service(SetBool, "~/enable", self._answering(self._enable))

    def _answering(self, action: Callable[[Any], str]) -> Callable:
        def answer(request, response):
            try:
                response.success, response.message = True, action(request)
                self._node.get_logger().info(response.message)
            except (UvmsError, OSError, TimeoutError) as error:
                reason = str(error) or f"the estimator did not answer in time ({type(error).__name__})"
                response.success, response.message = False, reason
                self._node.get_logger().warning(reason)
            return response
        return answer

    def _reset(self, request) -> str:
        self._restart_front_end()
        self._worker.call(lambda estimator: estimator.reset())
        return "Estimate and horizon are back at the prior."

    def _enable(self, request) -> str:
        def switch(estimator) -> None:
            if request.data and not estimator.learn:
                estimator.reset_horizon()  # the window must not span the pause
            estimator.learn = request.data
        self._worker.call(switch)
        return ("Samples are estimated with." if request.data
                else "Samples are not estimated with; predictions go on with the parameters as they are.")

    def _save(self, request) -> str:
        path = parameter_path(self._node.config.output)
        return f"Parameters saved to {save_parameters(path, self._worker.call(lambda estimator: estimator.parameter_set()))}."

    def _load(self, request) -> str:
        path = parameter_path(self._node.config.output)
        parameters = load_parameters(path)
        self._worker.call(lambda estimator: estimator.load(parameters))
        return f"Parameters loaded from {path}."

    def _next_stage(self, request) -> str:
        raise UvmsError("No schedule is configured: all parameters that are not frozen are estimated together.")


def parameter_path(output: Output) -> Path:
    """The file of save and load; raises ParameterError where output.file leads out of output.directory."""
    directory = Path(output.directory).expanduser().resolve()
    path = (directory / output.file).resolve()
    if not output.file or path == directory or not path.is_relative_to(directory):
        raise ParameterError(f"setting 'output.file' is {output.file!r}, which is no file inside output.directory '{directory}'; "
                             "expected a plain file name such as 'parameters.yaml'.")
    return path
