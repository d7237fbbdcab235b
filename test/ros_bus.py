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

"""A message bus for one test: its own ROS domain, an operator's node, and waiting for conditions
instead of times."""
import contextlib
import os
import subprocess
import sys
import time

# A domain for each test process keeps parallel runs apart; above 101 its ports meet those of
# outgoing connections.
DOMAIN = 1 + os.getpid() % 100
os.environ["ROS_DOMAIN_ID"] = str(DOMAIN)

import rclpy  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402

TIMEOUT = 30.0


class Bus:
    """An operator's node; nodes under test may share its executor. Everything is spun by `until` on
    the test's thread."""

    def __init__(self, arguments=(), name="operator"):
        self.context = Context()
        rclpy.init(args=["test", *arguments], context=self.context, domain_id=DOMAIN)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.operator = rclpy.create_node(name, context=self.context,
                                          use_global_arguments=False)
        self.executor.add_node(self.operator)

    def until(self, condition, timeout=TIMEOUT, what=""):
        """Spin until `condition()`; returns its value, or fails the test after `timeout` [s]."""
        end = time.monotonic() + timeout
        while not (value := condition()):
            assert time.monotonic() < end, f"not within {timeout:g} s: {what or condition}"
            self.executor.spin_once(timeout_sec=0.005)
        return value

    def collect(self, kind, topic, qos):
        """A list that grows with the messages of a topic."""
        found = []
        self.operator.create_subscription(kind, topic, found.append, qos)
        return found

    def publisher(self, kind, topic, qos, matched=1):
        """A publisher that has found its subscribers."""
        made = self.operator.create_publisher(kind, topic, qos)
        self.until(lambda: made.get_subscription_count() >= matched,
                   what=f"a subscriber of {topic}")
        return made

    def call(self, kind, service, request=None):
        """Call a service and return its answer."""
        client = self.operator.create_client(kind, service)
        self.until(client.service_is_ready, what=f"service {service}")
        future = client.call_async(request or kind.Request())
        self.until(future.done, what=f"an answer of {service}")
        return future.result()

    def begin(self, node):
        """Begin a node of the package on this executor; returns it."""
        self.executor.add_node(node)
        node.begin()
        return node

    def end(self, node):
        """Close a node, unless the test has."""
        if node.handle.pointer:
            self.executor.remove_node(node)
            node.close()

    def close(self):
        self.executor.shutdown()
        self.operator.destroy_node()
        rclpy.try_shutdown(context=self.context)


@contextlib.contextmanager
def bus(arguments=(), name="operator"):
    """A Bus that is closed whatever happens."""
    made = Bus(arguments, name)
    try:
        yield made
    finally:
        made.close()


def process(module, *arguments, **kwargs):
    """Run a module of the package as a process in this domain, with its output in one pipe."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return subprocess.Popen([sys.executable, "-m", module, *arguments], env=of_a_child(), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=root, **kwargs)


def of_a_child():
    """Environment for a process that imports rclpy itself."""
    return {key: value for key, value in os.environ.items() if not _of_this_process(key)}


def _of_this_process(key):
    # rclpy from wheels restarts its process to set the library path; a child must do so by itself.
    return key == "_ROS_WHEELS_BOOTSTRAP_COMPLETE" or (
        key == "LD_LIBRARY_PATH" and "_ROS_WHEELS_BOOTSTRAP_COMPLETE" in os.environ)
