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

"""Run demo, tests or checks from a fresh checkout, in an environment `.venv` that it creates once.

    python3 bootstrap.py demo [arguments of the demo]
    python3 bootstrap.py test [arguments of pytest]
    python3 bootstrap.py lint [arguments of ruff check]
    python3 bootstrap.py types [arguments of mypy]
    python3 bootstrap.py docs [arguments of sphinx-build]
    python3 bootstrap.py uvms COMMAND [its arguments]      (any other command of the package)

Uses only the standard library and the syntax of Python 3.6, so that an old Python can report what
is missing."""
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
    # in the order of test/conftest.py: longest files first
    "test": ["-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"],
    "lint": ["-m", "ruff", "check"],
    "types": ["-m", "mypy"],
    "docs": ["-m", "sphinx", "--builder", "html", "--quiet", "--fail-on-warning", "--keep-going",
             "docs", os.path.join("docs", "_build")],
    "uvms": ["-m", PACKAGE],
}

OLDEST, NEWEST = (3, 10), (3, 14)  # the ROS 2 Jazzy wheels, see requirements/ros.txt
GLIBC = (2, 28)  # their manylinux tag
DISK_GB = 2.0  # 1.1 GB installed, the rest for pip to unpack
# Output of pip when it cannot reach the index. With PIP_RETRIES=0 it only reports that there is no
# version of a package.
NETWORK_SIGNS = ("connection broken by", "(from versions: none)", "Max retries exceeded",
                 "Temporary failure in name resolution", "Network is unreachable",
                 "ReadTimeoutError", "ProxyError", "SSLError", "SSLCertVerificationError")
DISK_SIGN = "No space left on device"
# A third of all code, of which little or nothing is ever imported: not compiled in advance.
SELDOM_IMPORTED = r"/(pymavlink/dialects|pip|setuptools|tests)/"


class Refusal(Exception):
    """Why bootstrap cannot continue and what to do about it, in a sentence for the user."""


def check_platform(version=None, implementation=None, system=None, machine=None, bits=None,
                   libc=None):
    """Refuse platforms without ROS 2 wheels; each argument replaces the value of this machine."""
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
            "%s %d.%d is too %s, the ROS 2 wheels exist only for CPython %d.%d to %d.%d: run this "
            "with one of those, for example `python3.12 bootstrap.py`." %
            ((implementation, version[0], version[1], age) + OLDEST + NEWEST))
    if system != "Linux" or machine != "x86_64" or bits != "64bit":
        raise Refusal(
            "This is %s on %s (%s), but the ROS 2 wheels exist only for 64-bit Linux on x86_64: "
            "use such a machine or container, or build with colcon in an installed ROS 2 Jazzy." %
            (system, machine, bits))
    if name != "glibc" or tuple(int(part) for part in number.split(".")[:2]) < GLIBC:
        raise Refusal(
            "The C library here is %s %s, but the ROS 2 wheels need glibc %d.%d or newer: use "
            "Ubuntu 20.04, Debian 11 or newer." % ((name or "not glibc", number) + GLIBC))


def check_venv_module():
    """Refuse if Python cannot create a virtual environment: Debian packages ensurepip
    separately."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as missing:
        raise Refusal(
            "Python's module `%s`, which creates virtual environments, is missing: run `sudo apt "
            "install python3-venv` (python%d.%d-venv if this is not the system's Python), then "
            "run this again." %
            ((missing.name,) + sys.version_info[:2])) from None


def check_disk():
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < DISK_GB:
        raise Refusal(
            "Only %.1f GB are free on the disk of %s, but creating the environment needs %.0f GB: "
            "free some space, then run this again." % (free, ROOT, DISK_GB))


def requirement_files():
    return sorted(
        os.path.join(REQUIREMENTS, name)
        for name in os.listdir(REQUIREMENTS)
        if name.endswith(".txt"))


def fingerprint():
    """Hash of what the environment depends on: requirements, this Python, and its path, since its
    scripts contain absolute paths."""
    digest = hashlib.sha256(("%s %s" % (sys.version, VENV)).encode())
    for path in requirement_files():
        with open(path, "rb") as file:
            digest.update(os.path.basename(path).encode() + file.read())
    return digest.hexdigest()


def is_ready():
    """Whether the environment is complete. The stamp is written last, so it does not match if the
    environment is incomplete or has other requirements."""
    try:
        with open(STAMP) as file:
            return file.read() == fingerprint() and os.path.exists(PYTHON)
    except FileNotFoundError:
        return False


def clean_environment():
    """The caller's environment without variables of a sourced ROS installation, another venv or a
    parent of ours.

    The wheels and an inherited LD_LIBRARY_PATH are searched in no particular order, so with a
    sourced /opt/ros the wrong libraries may load; and the wheels contain only Fast DDS, whatever
    RMW_IMPLEMENTATION says. Containers often forbid Python to write bytecode: then each of the many
    test processes would recompile the package.
    """
    foreign = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH",
               "RMW_IMPLEMENTATION", "_ROS_WHEELS_BOOTSTRAP_COMPLETE", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in foreign}


def install():
    """Install the requirements with pip; show one line of progress, and its last lines on failure.

    They are complete: a search for dependencies would take as long as the installation.
    """
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check",
               "--progress-bar", "off", "--no-compile", "--no-deps"]
    for path in requirement_files():
        command += ["-r", path]
    # pip refuses `user = true` of a pip.conf inside a venv.
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
    """Compile on all cores; pip would use one and take as long again as the installation.

    Files that are not valid for this Python are ignored silently, as by pip.
    """
    subprocess.call([PYTHON, "-m", "compileall", "-qq", "-j", "0", "-x", SELDOM_IMPORTED,
                     os.path.join(VENV, "lib")],
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
    return ("pip could not install the requirements: fix the problem shown in its last lines "
            "above, then run this again.")


def make_environment():
    """Create `.venv` from scratch; the stamp is written last."""
    import venv

    if os.path.islink(VENV):
        # Recreating it would empty the folder it points to.
        raise Refusal(
            "%s is a link to %s, an environment of another checkout: remove the link so that this "
            "checkout creates its own, or run `%s -m %s` directly." %
            (VENV, os.path.realpath(VENV), PYTHON, PACKAGE))
    check_disk()
    print(
        "Creating the environment %s: downloads some 300 MB, once; takes a few minutes." % VENV,
        flush=True)
    venv.EnvBuilder(clear=True, symlinks=True, with_pip=True).create(VENV)
    install()
    compile_packages()
    index_checkout()
    with open(STAMP, "w") as file:
        file.write(fingerprint())


def index_checkout():
    """Let ament find launch and config files in the checkout, so that no installed copy can become
    outdated."""
    marker = os.path.join(VENV, "share", "ament_index", "resource_index", "packages", PACKAGE)
    os.makedirs(os.path.dirname(marker), exist_ok=True)
    shutil.copy(os.path.join(ROOT, "resource", PACKAGE), marker)
    os.symlink(ROOT, os.path.join(VENV, "share", PACKAGE))


def prepare():
    """Create the environment unless it is complete; a second bootstrap waits for the first."""
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
    """Environment variables for the package and its tests: this checkout, one thread per process,
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
    """Replace this process by the command, which then owns exit status, output and signals."""
    if command != "demo":
        os.chdir(ROOT)  # tool settings and relative paths in arguments are relative to the root
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
        message = "Interrupted: run the same command again; it recreates the environment."
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
