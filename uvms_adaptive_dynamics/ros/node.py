"""The node's process: `ros2 run uvms_adaptive_dynamics estimator`."""
from __future__ import annotations

import argparse
import os
import signal
import sys

# Before numpy: its matrices are 75 x 75 here, and BLAS threads cost more in waiting for each other
# than they win; on a busy machine a run without this line skipped a third of its solves.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.utilities import remove_ros_args

from ..config import NODE_NAME
from ..errors import UvmsError
from .estimator_node import EstimatorNode
from .log import last_words
from .parameter_files import check_reached, read_parameter_files


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; 0, or 1 after a sentence about what cannot be used."""
    arguments = sys.argv if args is None else args
    node = None
    try:
        files = read_parameter_files(arguments)     # before rcl, which would wait for a FIFO
        _parser().parse_args(remove_ros_args(arguments)[1:])
        rclpy.init(args=arguments)
        node = EstimatorNode()
        check_reached(files, node.get_fully_qualified_name())
        node.begin()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executor.spin()
        return 0
    except (KeyboardInterrupt, ExternalShutdownException):
        return 0
    except (UvmsError, ParameterException) as error:
        return _refuse(str(error), node, arguments)
    except RuntimeError as error:  # rcl refuses arguments and parameter files with this kind
        if node is None:
            return _refuse(_without_places(str(error)), node, arguments)
        if node.context.ok():
            raise
        return 0     # a signal came between two waits: the executor finds the context gone
    except Exception as error:
        _refuse(f"{type(error).__name__}: {error}. This is an error of the program; please report "
                "it with the traceback", node, arguments)
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if node is not None:
            node.close()
        rclpy.try_shutdown()


def _parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog="estimator", description="Online estimation of dynamics parameters (node "
        "uvms_estimator). Settings are ROS parameters: --ros-args --params-file FILE, or "
        "-p NAME:=VALUE.")


def _refuse(sentence: str, node: EstimatorNode | None, arguments: list[str]) -> int:
    last_words(sentence, node, NODE_NAME, arguments)
    return 1


def _without_places(text: str) -> str:
    """rcl's message without places in C source, and with what a person can do about it."""
    sentence = " ".join(text.split(", at /")[0].split())
    if sentence.startswith("["):
        sentence = (f"unknown ROS arguments {sentence}; expected --params-file FILE, "
                    "-p NAME:=VALUE, -r FROM:=TO or --log-level LEVEL")
    elif "Sequence should be of same type" in sentence:
        sentence += (". ROS wants the numbers of a list all with or all without a decimal point: "
                     "[1.0, 2.5]")
    elif "No value at" in sentence:
        sentence += ". Write a value, or leave the line out"
    return sentence + "."


if __name__ == "__main__":
    sys.exit(main())
