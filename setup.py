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

from glob import glob

from setuptools import find_packages, setup

package_name = "uvms_adaptive_dynamics"

setup(
    name=package_name,
    version="0.1.0",
    description="Online estimation of the dynamics parameters of an underwater vehicle with an "
                "arm.",
    maintainer="uvms_adaptive_dynamics developers",
    maintainer_email="dev@example.com",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(include=[f"{package_name}*"]),
    package_data={package_name: ["robots/*", "schedules/*", "evaluation/page/*",
                                 "evaluation/batch/*.jinja"]},
    data_files=[("share/ament_index/resource_index/packages", [f"resource/{package_name}"]),
                (f"share/{package_name}", ["package.xml"]),
                # On the PATH, also with colcon, which installs node executables in lib/<package>.
                ("bin", ["scripts/uvms"]),
                (f"share/{package_name}/launch", sorted(glob("launch/*.py"))),
                (f"share/{package_name}/config", sorted(glob("config/*"))),
                (f"share/{package_name}/layouts", sorted(glob("layouts/*"))),
                # for robot_state_publisher and RViz, in addition to the copy inside the package
                (f"share/{package_name}/robots", sorted(glob(f"{package_name}/robots/*"))),
                # for users to read and copy; the node reads those inside the package
                (f"share/{package_name}/schedules",
                 sorted(glob(f"{package_name}/schedules/*"))),
                # For C++: find_package(uvms_adaptive_dynamics), header-only.
                (f"include/{package_name}", sorted(glob(f"include/{package_name}/*.hpp"))),
                (f"share/{package_name}/cmake", sorted(glob("cmake/*.cmake"))), ],
    # Robot descriptions are opened by path, which a zipped package does not provide.
    zip_safe=False,
    # The lowest numpy is that of Ubuntu 24.04, which ROS 2 Jazzy is built against.
    install_requires=[
        "numpy>=1.26", "scipy>=1.13", "cvxpy>=1.7", "clarabel>=0.11", "mosek>=11", "pyyaml>=6.0"
    ],
    extras_require={
        # Pinocchio is not required above, since pip does not know apt's ros-jazzy-pinocchio:
        # requiring `pin` would install a second copy beside it and break the scripts of a colcon
        # build once anything imports pkg_resources. Without the apt package: pip install
        # '.[standalone,ros,evaluation]'. The published 3.4.0 and 3.9.0 cannot be imported.
        "standalone": ["pin>=2.7,!=3.4.0,!=3.9.0"],
        # Unpinned, ros-rclpy is ROS 2 Kilted; without [fastrtps] it lacks a middleware and cannot
        # be imported.
        "ros": ["ros-rclpy[fastrtps]==7.1.6", "ros-jazzy-common-interfaces==5.3.6"],
        # rich draws progress and colours; without it output is plain text.
        "evaluation": ["matplotlib>=3.6", "rosbags>=0.11", "jinja2>=3.1", "rich>=13"],
        # ArduPilot logs, .BIN and .tlog.
        "logs": ["pymavlink>=2.4.40"],
        # `batch --dask ADDRESS`, here and on the workers of the cluster.
        "dask": ["distributed>=2024.1"],
        # Coverage-guided fuzzing: `python test/fuzz.py --atheris yaml`; no wheels below 3.11.
        "fuzz": ["atheris>=3.0; python_version >= '3.11'"],
        # colcon recognizes pytest by this extra; with tests_require it runs no tests.
        "test": ["pytest>=7.4", "pytest-timeout>=2.2", "pytest-xdist>=3.5", "hypothesis>=6.98"],
    },
    entry_points={
        "console_scripts": [
            f"estimator = {package_name}.programs:estimator",
            f"feedforward = {package_name}.programs:feedforward",
            f"twin = {package_name}.programs:twin",
            f"identify = {package_name}.programs:identify",
            f"simulated_robot = {package_name}.programs:simulated_robot",
            f"closed_loop_controller = {package_name}.programs:closed_loop_controller",
            f"{package_name} = {package_name}.__main__:process",
        ],
    },
)
