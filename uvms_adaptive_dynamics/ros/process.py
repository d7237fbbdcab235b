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

"""Process of a node: arguments, parameter files, spinning, signals, exit status."""
from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from ..errors import UvmsError
from ..programs import end_imports
from .node_log import last_words
from .parameter_files import check_reached, read_parameter_files

# [s] between checks for a signal, for a node that winds down.
SIGNAL_PERIOD = 0.02
# [s] at most for a node to wind down after an internal error.
WIND_DOWN_S = 10.0


def node_parser(program: str, name: str, does: str) -> argparse.ArgumentParser:
    """Parser of the arguments that are not ROS's, for a program that runs the node `name`."""
    return argparse.ArgumentParser(
        prog=program, description=f"{does} (node {name}). Settings are ROS parameters: --ros-args "
        "--params-file FILE, or -p NAME:=VALUE.")


def run_node(args: list[str] | None, make: Callable[[], Any], parser: argparse.ArgumentParser,
             name: str, winds_down: bool = False) -> int:
    """Run the node that `make` returns until SIGINT or SIGTERM; returns 0, or 1 after an error
    message.

    args: those of the process if None. The node has begin() and close(). winds_down: the node still
    has to publish after a signal: it gets wind_down() once per signal, or wind_down(error) after an
    internal error, and the process ends when its `wound_down` is true, with its `exit_status`.
    """
    arguments, node, begun = sys.argv if args is None else args, None, False

    def interrupted() -> bool:
        """Whether a signal has ended the context, so that what needs it fails."""
        return begun and not rclpy.ok()
    try:
        end_imports()
        files = read_parameter_files(arguments)     # before rcl, which would block on a FIFO
        parser.parse_args(remove_ros_args(list(arguments))[1:])
        if not winds_down:
            # rclpy's handler stops the spinning and calls this one. Without it KeyboardInterrupt is
            # raised anywhere; in an rclpy destructor it printed a traceback.
            signal.signal(signal.SIGINT, lambda *_: None)
        rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO
                   if winds_down else None)
        begun = True
        node = make()
        check_reached(files, node.get_fully_qualified_name())
        node.begin()
        if not node.context.ok():
            return 0        # a signal has arrived already; no executor can be created
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        if winds_down:
            _spin_and_wind_down(executor, node)
            return int(node.exit_status)
        executor.spin()
        return 0
    except (KeyboardInterrupt, ExternalShutdownException):
        return 0
    except (UvmsError, ParameterException) as error:
        return 0 if interrupted() else _refuse(name, str(error), node, arguments)
    except RuntimeError as error:
        if interrupted():
            return 0
        if node is None:    # raised by rcl for bad arguments and parameter files
            return _refuse(name, _without_places(str(error)), node, arguments)
        raise
    except Exception as error:      # reported as ours before its traceback
        _refuse(name, f"internal error ({type(error).__name__}: {error}); please "
                "report it with the traceback", node, arguments)
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if node is not None:
            node.close()
        shut_down()


def shut_down(context: Context | None = None) -> None:
    """Shut the context down, the default one if None, unless it is already."""
    try:
        rclpy.try_shutdown(context=context)
    except RuntimeError:
        # The thread of rclpy's signal handler was first, after try_shutdown had looked.
        if rclpy.ok(context=context):
            raise


def _spin_and_wind_down(executor: SingleThreadedExecutor, node: Any) -> None:
    """Spin with own signal handlers: rclpy's would shut down the context and all publishers."""
    asked = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: asked.set())
    try:
        while node.context.ok() and not node.wound_down:
            executor.spin_once(timeout_sec=SIGNAL_PERIOD)
            if asked.is_set():
                asked.clear()
                node.wind_down()
    except Exception as error:      # whatever the error, the robot must not continue its motion
        with contextlib.suppress(Exception):    # the report of the stop may fail as well
            node.wind_down(error)
        end = time.monotonic() + WIND_DOWN_S
        while node.context.ok() and not node.wound_down and time.monotonic() < end:
            time.sleep(SIGNAL_PERIOD)
        raise


def _refuse(name: str, sentence: str, node: Node | None, arguments: Sequence[str]) -> int:
    last_words(sentence, node, name, arguments)
    return 1


def _without_places(text: str) -> str:
    """rcl's message without C source locations, with advice added."""
    sentence = " ".join(text.split(", at /")[0].split())
    if sentence.startswith("["):
        sentence = (f"unknown ROS arguments {sentence}; expected --params-file FILE, "
                    "-p NAME:=VALUE, -r FROM:=TO or --log-level LEVEL")
    elif "Sequence should be of same type" in sentence:
        sentence += (". In ROS either all numbers of a list have a decimal point or none: "
                     "[1.0, 2.5]")
    elif "No value at" in sentence:
        sentence += ". Write a value, or delete the line"
    elif "Failed to create log directory" in sentence:
        # ends in the number of the error
        sentence = (sentence.rsplit(":", 1)[0] + ". Set the environment variable ROS_LOG_DIR to a "
                    "directory that can be written, and output.directory too")
    return sentence + "."
