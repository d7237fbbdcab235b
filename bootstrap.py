#!/usr/bin/env python3
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

"""Run demo, tests or checks from a fresh checkout, in an environment `.venv` that it makes once.

    python3 bootstrap.py demo [arguments of the demo]
    python3 bootstrap.py test [arguments of pytest]
    python3 bootstrap.py lint [arguments of ruff check]
    python3 bootstrap.py types [arguments of mypy]
    python3 bootstrap.py docs [arguments of sphinx-build]

Standard library only, and in words that Python 3.6 reads too, so that an old Python hears what is
missing.
"""
import collections
import errno
import hashlib
import os
import platform
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "bootstrap-stamp")
REQUIREMENTS = os.path.join(ROOT, "requirements")
PACKAGE = "uvms_adaptive_dynamics"
COMMANDS = {
    "demo": ["-m", PACKAGE, "demo"],
    # in the order of test/conftest.py: the longest files first
    "test": ["-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"],
    "lint": ["-m", "ruff", "check"],
    "types": ["-m", "mypy"],
    "docs": ["-m", "sphinx", "--builder", "html", "--quiet", "--fail-on-warning", "--keep-going",
             "docs", os.path.join("docs", "_build")],
}

OLDEST, NEWEST = (3, 10), (3, 14)  # the ROS 2 Jazzy wheels, see requirements/ros.txt
GLIBC = (2, 28)  # their manylinux tag
DISK_GB = 2.0  # 1.1 GB installed, the rest is pip unpacking
# What pip writes when it does not reach the index. With PIP_RETRIES=0 it is only that it knows no
# version of a package.
NETWORK_SIGNS = ("connection broken by", "(from versions: none)", "Max retries exceeded",
                 "Temporary failure in name resolution", "Network is unreachable",
                 "ReadTimeoutError", "ProxyError", "SSLError", "SSLCertVerificationError")
DISK_SIGN = "No space left on device"


class Refusal(Exception):
    """Why it cannot go on and what to do about it, in a sentence for the user."""


def check_platform(version=None, implementation=None, system=None, machine=None, bits=None,
                   libc=None):
    """Refuse where the ROS 2 wheels do not exist; each argument replaces what is found of this
    machine."""
    version = version or sys.version_info[:2]
    implementation = implementation or platform.python_implementation()
    system = system or platform.system()
    machine = machine or platform.machine()
    bits = bits or platform.architecture()[0]
    name, number = libc or platform.libc_ver()
    if not OLDEST <= tuple(version[:2]) <= NEWEST or implementation != "CPython":
        age = "old" if tuple(
            version[:2]) < OLDEST else "new" if tuple(version[:2]) > NEWEST else "different"
        raise Refusal(
            "%s %d.%d is too %s, the ROS 2 wheels exist for CPython %d.%d to %d.%d only: run this "
            "with one of those, for example `python3.12 bootstrap.py`." %
            ((implementation, version[0], version[1], age) + OLDEST + NEWEST))
    if system != "Linux" or machine != "x86_64" or bits != "64bit":
        raise Refusal(
            "This is %s on %s (%s), and the ROS 2 wheels exist for 64-bit Linux on x86_64 only: "
            "use such a machine or container, or build with colcon in an installed ROS 2 Jazzy." %
            (system, machine, bits))
    if name != "glibc" or tuple(int(part) for part in number.split(".")[:2]) < GLIBC:
        raise Refusal(
            "The C library here is %s %s, and the ROS 2 wheels need glibc %d.%d or newer: use "
            "Ubuntu 20.04, Debian 11 or newer." % ((name or "not glibc", number) + GLIBC))


def check_venv_module():
    """Refuse where Python cannot make a virtual environment: Debian splits ensurepip off."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as missing:
        raise Refusal(
            "Python's module `%s` is missing, which makes virtual environments: run `sudo apt "
            "install python3-venv` (for a Python beside the system's: python%d.%d-venv), then "
            "this again." %
            ((missing.name,) + sys.version_info[:2])) from None


def check_disk():
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < DISK_GB:
        raise Refusal(
            "Only %.1f GB are free on the disk of %s, and the environment needs %.0f GB while it "
            "is made: free some, then run this again." % (free, ROOT, DISK_GB))


def requirement_files():
    return sorted(
        os.path.join(REQUIREMENTS, name)
        for name in os.listdir(REQUIREMENTS)
        if name.endswith(".txt"))


def fingerprint():
    """What the environment depends on: the requirements, this Python, and its place (its scripts
    hold absolute paths)."""
    digest = hashlib.sha256(("%s %s" % (sys.version, VENV)).encode())
    for path in requirement_files():
        with open(path, "rb") as file:
            digest.update(os.path.basename(path).encode() + file.read())
    return digest.hexdigest()


def is_ready():
    """The stamp is written last, so an environment that is half made, or of other requirements, has
    none that fits."""
    try:
        with open(STAMP) as file:
            return file.read() == fingerprint() and os.path.exists(PYTHON)
    except FileNotFoundError:
        return False


def clean_environment():
    """The caller's environment without what a sourced ROS installation, another venv or a parent of
    ours left there.

    The wheels put their libraries and those of an inherited LD_LIBRARY_PATH in no particular order,
    so with a sourced /opt/ros the wrong ones may load; and they contain Fast DDS only, whatever
    RMW_IMPLEMENTATION asks for. Containers often forbid Python to write bytecode: then each of the
    many processes of the tests would compile the package anew.
    """
    foreign = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH",
               "RMW_IMPLEMENTATION", "_ROS_WHEELS_BOOTSTRAP_COMPLETE", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in foreign}


def install():
    """Let pip install the requirements, with one line of progress, and show its last lines if it
    fails."""
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check",
               "--progress-bar", "off", "--no-compile"]
    for path in requirement_files():
        command += ["-c" if os.path.basename(path) == "constraints.txt" else "-r", path]
    # A `user = true` in somebody's pip.conf is refused inside a venv.
    environment = dict(clean_environment(), PIP_USER="0")
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, universal_newlines=True, errors="replace")
    width = shutil.get_terminal_size().columns - 1
    last, signs = collections.deque(maxlen=15), set()
    try:
        for line in process.stdout:
            last.append(line.rstrip())
            signs.update(sign for sign in NETWORK_SIGNS + (DISK_SIGN,) if sign in line)
            if sys.stdout.isatty():
                print("\r" + last[-1].strip()[:width].ljust(width), end="", flush=True)
    finally:
        process.wait()
        if sys.stdout.isatty():
            print("\r" + " " * width, end="\r", flush=True)
    if process.returncode:
        print("\n".join(last), file=sys.stderr)
        raise Refusal(pip_advice(signs))


def compile_packages():
    """What pip would do with one core, with all of them: it takes as long as all else of pip. Of
    files that are no Python of this version nothing is said, as pip does not."""
    subprocess.call([PYTHON, "-m", "compileall", "-qq", "-j", "0", os.path.join(VENV, "lib")],
                    env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def pip_advice(signs):
    if DISK_SIGN in signs:
        return (
            "The disk is full: free %.0f GB for %s and pip's temporary files (or point TMPDIR "
            "elsewhere), then run this again." % (DISK_GB, ROOT))
    if signs:
        return (
            "pip could not reach the package index (its last lines are above): check the network, "
            "the proxy and PIP_INDEX_URL, then run this again.")
    return ("pip could not install the requirements, its last lines are above: mend what they "
            "name, then run this again.")


def make_environment():
    """Make `.venv` from nothing, with the stamp as its last step."""
    import venv

    if os.path.islink(VENV):
        # Making it anew would empty the folder that it leads to.
        raise Refusal(
            "%s is a link to %s, an environment of another checkout: remove the link to let this "
            "checkout make its own, or run `%s -m %s` as it is." %
            (VENV, os.path.realpath(VENV), PYTHON, PACKAGE))
    check_disk()
    print(
        "Making the environment %s: downloads some 300 MB, once, which takes a few minutes." % VENV,
        flush=True)
    venv.EnvBuilder(clear=True, symlinks=True, with_pip=True).create(VENV)
    install()
    compile_packages()
    index_checkout()
    with open(STAMP, "w") as file:
        file.write(fingerprint())


def index_checkout():
    """Let ament find launch and config files in the checkout itself: nothing is installed that
    could grow old."""
    marker = os.path.join(VENV, "share", "ament_index", "resource_index", "packages", PACKAGE)
    os.makedirs(os.path.dirname(marker), exist_ok=True)
    shutil.copy(os.path.join(ROOT, "resource", PACKAGE), marker)
    os.symlink(ROOT, os.path.join(VENV, "share", PACKAGE))


def prepare():
    """Make the environment unless a complete one is there; a second bootstrap waits for the first.
    """
    import fcntl

    check_venv_module()
    lock = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_ready():
            make_environment()
    finally:
        os.close(lock)


def run_environment():
    """The variables that the package and its tests run with: this checkout, one thread per process,
    this machine only."""
    variables = clean_environment()
    variables.update(
        PYTHONPATH=ROOT, AMENT_PREFIX_PATH=VENV, VIRTUAL_ENV=VENV,
        PATH=os.path.join(VENV, "bin") + os.pathsep + os.environ.get("PATH", os.defpath))
    variables.setdefault("OMP_NUM_THREADS", "1")
    variables.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    shared = os.path.join(os.path.dirname(ROOT), "shared")
    if os.path.isdir(shared):
        variables.setdefault("UVMS_SHARED", shared)
    return variables


def run(command, arguments):
    """Become the command: its exit status, output and signals are its own."""
    if command != "demo":
        os.chdir(ROOT)  # settings of the tools, and paths among their arguments, count from here
    sys.stdout.flush()
    os.execve(PYTHON, [PYTHON] + COMMANDS[command] + arguments, run_environment())


def main(arguments):
    try:
        if not arguments or arguments[0] not in COMMANDS:
            raise Refusal("Say what to run: %s."
                          % ", ".join("`python3 bootstrap.py %s`" % name for name in COMMANDS))
        check_platform()
        prepare()
        run(arguments[0], arguments[1:])
    except Refusal as refusal:
        message, status = str(refusal), 2
    except KeyboardInterrupt:
        message = "Interrupted: run the same command again, it starts the environment afresh."
        status = 130
    except subprocess.CalledProcessError as error:
        message, status = (
            "Python could not set up pip in %s (`%s` failed): delete that folder and run this "
            "again."
            % (VENV, " ".join(map(str, error.cmd)))), 2
    except OSError as error:
        advice = pip_advice({
            DISK_SIGN
        }) if error.errno == errno.ENOSPC else "Make it readable and writable, then run this again."
        message, status = "%s: %s. %s" % (error.filename or ROOT, error.strerror, advice), 2
    print("bootstrap: " + message, file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
