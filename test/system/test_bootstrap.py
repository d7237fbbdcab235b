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

"""bootstrap.py: each obstacle gives one message with what to do; a ready environment is used as it
is."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import conftest
import pytest

ROOT = Path(__file__).resolve().parents[2]
THIS_MACHINE = dict(version=(3, 12), implementation="CPython", system="Linux", machine="x86_64",
                    bits="64bit", libc=("glibc", "2.39"))


def load(folder):
    spec = importlib.util.spec_from_file_location("bootstrap", folder / "bootstrap.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path):
    """A folder with the parts of a checkout that bootstrap.py reads."""
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    shutil.copytree(ROOT / "resource", folder / "resource")
    shutil.copy(ROOT / "bootstrap.py", folder)
    return folder


@pytest.fixture
def bootstrap(checkout):
    return load(checkout)


@pytest.fixture
def ready_checkout(checkout):
    """A checkout with a complete environment, whose Python is a script that prints how it was
    called."""
    bootstrap = load(checkout)
    python = Path(bootstrap.PYTHON)
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "arguments: $*"\necho "folder: $(pwd)"\nenv\nexit 7\n')
    python.chmod(0o755)
    Path(bootstrap.STAMP).write_text(bootstrap.fingerprint())
    return checkout


def run(checkout, *arguments, cwd=None, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, str(checkout / "bootstrap.py"), *arguments], cwd=cwd or checkout,
        env={name: value
             for name, value in environment.items()
             if value is not None}, capture_output=True, text=True, timeout=120)


def refusal(capsys):
    """The one line shown to the user."""
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("bootstrap: ")
    return lines[0]


@pytest.mark.parametrize(
    "found", [{}, {"version": (3, 10)}, {"version": (3, 14)}, {"libc": ("glibc", "2.28")}])
def test_platforms_of_the_ros_wheels_are_accepted(bootstrap, found):
    assert bootstrap.check_platform(**{**THIS_MACHINE, **found}) is None


@pytest.mark.parametrize("found, told", [
    ({"version": (3, 9)}, "CPython 3.9 is too old"),
    ({"version": (3, 15)}, "CPython 3.15 is too new"),
    ({"implementation": "PyPy"}, "PyPy 3.12 is too different"),
    ({"machine": "aarch64"}, "Linux on aarch64"),
    ({"system": "Darwin", "machine": "x86_64"}, "Darwin on x86_64"),
    ({"bits": "32bit"}, "32bit"),
    ({"libc": ("", "")}, "not glibc"),
    ({"libc": ("glibc", "2.27")}, "glibc 2.27"),
])
def test_other_platforms_are_refused_with_what_to_use(bootstrap, found, told):
    with pytest.raises(bootstrap.Refusal, match=re.escape(told)) as refused:
        bootstrap.check_platform(**{**THIS_MACHINE, **found})
    assert re.search(r"\b(run|use)\b", str(refused.value))


def test_another_architecture_is_one_sentence_and_no_traceback(bootstrap, monkeypatch, capsys):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert bootstrap.main(["demo"]) == 2
    assert "aarch64" in refusal(capsys)


def test_missing_ensurepip_names_the_debian_package(bootstrap, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    assert bootstrap.main(["demo"]) == 2
    assert "apt install python3-venv" in refusal(capsys)


def test_too_little_disk_is_told_before_anything_is_made(bootstrap, monkeypatch, capsys):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=0.3e9))
    assert bootstrap.main(["demo"]) == 2
    assert "Only 0.3 GB are free" in refusal(capsys)
    assert not os.path.exists(bootstrap.VENV)


def test_a_disk_that_fills_up_under_pip_is_told_apart_from_the_network(bootstrap):
    assert "TMPDIR" in bootstrap.pip_advice({bootstrap.DISK_SIGN, "ReadTimeoutError"})
    assert "network" in bootstrap.pip_advice({"ReadTimeoutError"})
    assert "network" not in bootstrap.pip_advice(set())


def test_interruption_leaves_an_environment_that_is_made_again(bootstrap, monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "make_environment", interrupted)
    assert bootstrap.main(["test"]) == 130
    assert "Interrupted" in refusal(capsys)
    assert not bootstrap.is_ready()


def test_a_folder_that_cannot_be_written_is_named(bootstrap, monkeypatch, capsys):
    def denied():
        raise PermissionError(13, "Permission denied", bootstrap.VENV)

    monkeypatch.setattr(bootstrap, "make_environment", denied)
    assert bootstrap.main(["test"]) == 2
    assert f"{bootstrap.VENV}: Permission denied" in refusal(capsys)


@pytest.mark.parametrize("arguments", [[], ["demonstrate"]])
def test_an_unknown_command_lists_the_commands(bootstrap, arguments, capsys):
    assert bootstrap.main(arguments) == 2
    assert "bootstrap.py demo" in refusal(capsys)


def test_a_link_to_the_environment_of_another_checkout_is_never_emptied(bootstrap, checkout,
                                                                        tmp_path, capsys):
    """As in worktrees; creating an environment clears its folder first."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    (checkout / ".venv").symlink_to(other)
    assert bootstrap.main(["test"]) == 2
    assert f"is a link to {other}" in refusal(capsys) and (other / "kept").exists()


def test_unreachable_index_shows_pip_and_says_what_to_check(checkout):
    result = run(checkout, "test", PIP_INDEX_URL="http://127.0.0.1:9/simple",
                 PIP_CONFIG_FILE=os.devnull, PIP_RETRIES="0", PIP_FIND_LINKS=None,
                 PIP_EXTRA_INDEX_URL=None)
    assert result.returncode == 2
    assert "ERROR: " in result.stderr and "Traceback" not in result.stderr
    assert "could not reach the package index" in result.stderr.splitlines()[-1]
    assert (checkout / ".venv").is_dir() and not load(checkout).is_ready()


def test_environment_is_ready_until_the_requirements_change(ready_checkout):
    bootstrap = load(ready_checkout)
    assert bootstrap.is_ready()
    with open(ready_checkout / "requirements" / "test.txt", "a") as file:
        file.write("another==1.0\n")
    assert not bootstrap.is_ready()


def test_test_passes_arguments_and_exit_status_through(ready_checkout, tmp_path):
    result = run(ready_checkout, "test", "-k", "regressor", cwd=tmp_path)
    assert result.returncode == 7
    assert ("arguments: -m pytest -n 2 --dist loadfile --no-loadscope-reorder -k regressor\n"
            in result.stdout)
    assert f"folder: {ready_checkout}" in result.stdout


@pytest.mark.parametrize("command, tool", [
    ("lint", "-m ruff check"), ("types", "-m mypy"),
    ("docs", "-m sphinx --builder html --quiet --fail-on-warning --keep-going docs docs/_build")])
def test_checks_run_in_the_checkout(ready_checkout, tmp_path, command, tool):
    """The tools' settings are beside bootstrap.py, wherever it is called from."""
    result = run(ready_checkout, command, cwd=tmp_path)
    assert f"arguments: {tool}\n" in result.stdout and f"folder: {ready_checkout}" in result.stdout


def test_demo_runs_the_checkout_where_the_caller_is(ready_checkout, tmp_path):
    result = run(ready_checkout, "demo", cwd=tmp_path)
    assert "arguments: -m uvms_adaptive_dynamics demo" in result.stdout
    assert f"folder: {tmp_path}\n" in result.stdout
    assert f"PYTHONPATH={ready_checkout}\n" in result.stdout


def test_a_sourced_ros_installation_stays_outside(ready_checkout):
    result = run(ready_checkout, "demo", PYTHONPATH="/opt/ros/jazzy/lib",
                 LD_LIBRARY_PATH="/opt/ros/jazzy/lib", AMENT_PREFIX_PATH="/opt/ros/jazzy",
                 RMW_IMPLEMENTATION="rmw_cyclonedds_cpp", _ROS_WHEELS_BOOTSTRAP_COMPLETE="1")
    assert "/opt/ros/jazzy" not in result.stdout
    for name in ("RMW_IMPLEMENTATION", "_ROS_WHEELS_BOOTSTRAP_COMPLETE"):
        assert name not in result.stdout


def test_bytecode_is_written_whatever_the_caller_has_set(ready_checkout):
    """Otherwise each of the many test processes would recompile the package."""
    assert "PYTHONDONTWRITEBYTECODE" not in run(ready_checkout, "test",
                                                PYTHONDONTWRITEBYTECODE="1").stdout


def test_packages_are_compiled_when_the_environment_is_made(bootstrap, monkeypatch):
    """All of them, after pip with --no-compile."""
    package = Path(bootstrap.VENV) / "lib" / "python3" / "site-packages" / "package"
    package.mkdir(parents=True)
    (package / "good.py").write_text("x = 1\n")
    (package / "template.py").write_text("x = {{ x }}: no Python\n")
    monkeypatch.setattr(bootstrap, "PYTHON", sys.executable)
    bootstrap.compile_packages()
    assert [path.name.split(".")[0] for path in package.rglob("*.pyc")] == ["good"]


def test_the_files_that_go_first_exist():
    """A long file that starts last prolongs the whole run."""
    assert [file for file in conftest.LONGEST if not (ROOT / "test" / file).is_file()] == []


def test_children_keep_to_one_thread_and_this_machine_and_find_the_shared_folder(ready_checkout):
    shared = ready_checkout.parent / "shared"
    shared.mkdir()
    unset = dict(OMP_NUM_THREADS=None, ROS_AUTOMATIC_DISCOVERY_RANGE=None)
    result = run(ready_checkout, "demo", UVMS_SHARED=None, **unset)
    for line in ("OMP_NUM_THREADS=1", "ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST",
                 f"UVMS_SHARED={shared}"):
        assert line in result.stdout.splitlines()
    assert "UVMS_SHARED=/elsewhere" in run(ready_checkout, "demo", UVMS_SHARED="/elsewhere",
                                           **unset).stdout.splitlines()


def test_launch_and_config_files_are_found_in_the_checkout_itself(bootstrap, checkout):
    bootstrap.index_checkout()
    share = Path(bootstrap.VENV) / "share"
    assert (share / "ament_index" / "resource_index" / "packages"
            / "uvms_adaptive_dynamics").is_file()
    assert (share / "uvms_adaptive_dynamics").resolve() == checkout


def test_setup_py_and_package_xml_carry_the_same_version():
    in_setup = re.search(r'version="([^"]+)"', (ROOT / "setup.py").read_text()).group(1)
    assert f"<version>{in_setup}</version>" in (ROOT / "package.xml").read_text()
