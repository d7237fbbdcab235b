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

"""Commands in the documentation exist, with their options and files. `test_tutorial.py` runs those
of the tutorial; campaigns among the others take hours."""
import argparse
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from uvms_adaptive_dynamics import options
from uvms_adaptive_dynamics.__main__ import COMMANDS
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.disk.yaml_text import parse_yaml
from uvms_adaptive_dynamics.errors import ConfigError, UvmsError

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md")),
         *sorted(ROOT.glob("examples/*.md"))]
BLOCK = re.compile(r"^```(\S*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Placeholders that a reader replaces: FORMAT, $PARTS, ..
PLACEHOLDER = re.compile(r"(?:invalid choice:|got) '([A-Z]+|\$\w+|\.\.)'")
QUOTED = re.compile(r"`(python3? [^`]+?)`", re.DOTALL)
# `section.name: value`, as drivers.md gives settings
SETTING = re.compile(r"`([a-z_]+\.[a-z_]+): ([^`\s]+)`")
# External programs, whose arguments are not checked.
FOREIGN = {"sudo", "pip", "pip3", "mkdir", "cd", "cp", "git", "colcon", "ament_flake8",
           "ament_pep257", "ament_copyright", ".", "source", "export",
           "ls", "c++", "g++", "cmake", "systemctl", "journalctl", "mcap", "deactivate",
           "plotjuggler", "rviz2", "dask"}


def relative(path):
    return str(path.relative_to(ROOT))


def command_lines(text):
    """Shell lines of a page without comments, including those quoted in a sentence."""
    for language, block in BLOCK.findall(text):
        if language not in ("", "bash", "sh"):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            line = re.split(r"(?:^|\s)#", line)[0].strip()
            if line:
                yield line
    for quoted in QUOTED.findall(BLOCK.sub("", text)):
        if "..." not in quoted:
            yield " ".join(quoted.split())


def words_of(line):
    """Words of a line, without leading assignments."""
    if re.match(r"[A-Z_]+=\$\(", line):
        return []
    words = shlex.split(line)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    return words


@cache
def parser_of(command):
    """The command's parser, without checks that files exist or not."""
    from importlib import import_module

    import uvms_adaptive_dynamics
    parser = options.Parser()
    import_module(f"{uvms_adaptive_dynamics.__name__}.{COMMANDS[command][0]}").add_arguments(parser)
    paths = (options.bag, options.file, options.new_path, options.new_file, options.folder)
    actions = [*parser._actions]        # nested commands' are added on the way
    for action in actions:
        if action.type in paths or getattr(action.type, "__module__", "") not in (
                options.__name__, "builtins"):
            action.type = None
        if isinstance(action, argparse._SubParsersAction):
            actions += [each for inner in action.choices.values() for each in inner._actions]
    return parser


def wrong_with(line):
    """What a shell line uses that does not exist, '' for nothing."""
    if line.startswith(("(", "{", "$", "<", "find_package", "target_", "#include", "if ", "for ")):
        return ""
    words = [word for word in words_of(line) if word != "&&"]
    if not words or words[0] in FOREIGN:
        return ""
    if words[0] in ("python", "python3", "nice", "timeout"):
        while words and words[0] not in ("python", "python3"):
            words = words[1:]
        return python(words[1:])
    if words[0] == "uvms":
        return ours(words[1:])
    if words[0] == "ros2":
        return ros2(words[1:])
    if words[0] == ".ci/run":
        return "" if (ROOT / ".ci/run").is_file() else line
    return f"'{words[0]}' is unknown"


def python(words):
    if words[:1] == ["-m"]:
        if words[1] == "uvms_adaptive_dynamics":
            return ours(words[2:])
        module = words[1].replace(".", "/")
        known = any((ROOT / (module + end)).exists() for end in (".py", ""))
        return "" if known or words[1] in ("pytest", "venv", "pip", "sphinx") else words[1]
    script = ROOT / words[0]
    if not script.is_file():
        return f"{words[0]} is no file"
    if words[0] == "bootstrap.py":
        import bootstrap
        return "" if words[1] in bootstrap.COMMANDS else f"bootstrap.py has no {words[1]}"
    text = script.read_text() + Path(options.__file__).read_text()
    unknown = [word for word in words[1:] if word.startswith("--")
               and f'"{word.partition("=")[0]}"' not in text]
    return f"{words[0]} has no {unknown[0]}" if unknown else ""


def ours(words):
    if not words or words[0] == "COMMAND" or words[0].startswith("-"):
        return ""
    if words[0] not in COMMANDS:
        return f"no command '{words[0]}'"
    given = [re.sub(r"[\[\]]", "", word) for word in words[1:] if word not in ("...]", "...")]
    given = given[:given.index(">")] if ">" in given else given
    try:
        parser_of(words[0]).parse_args(given)
    except UvmsError as error:
        return "" if PLACEHOLDER.search(str(error)) else f"{' '.join(words)}: {error}"
    return ""


def ros2(words):
    if words[0] == "launch":
        file = ROOT / "launch" / words[2]
        if not file.is_file():
            return f"no launch file {words[2]}"
        text = "".join(path.read_text() for path in (ROOT / "launch").glob("*.py")
                       if path.name in (file.name, *re.findall(r"\w+\.launch\.py",
                                                               file.read_text())))
        unknown = [word for word in words[3:] if ":=" in word
                   and f'"{word.partition(":=")[0]}"' not in text]
        return f"{words[2]} has no {unknown[0]}" if unknown else ""
    if words[0] == "run" and words[1] == "uvms_adaptive_dynamics":
        scripts = re.findall(r'f"([\w{}]+) = ', (ROOT / "setup.py").read_text())
        return "" if words[2] in scripts else f"no executable {words[2]}"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_command_of_a_page_exists(page):
    """Command, options and their values, launch files with arguments, scripts."""
    assert [(line, wrong) for line in command_lines(page.read_text())
            if (wrong := wrong_with(line))] == []


@pytest.mark.parametrize("line", [
    "python -m uvms_adaptive_dynamics evaluat BAG", "python -m uvms_adaptive_dynamics evaluate",
    "python -m uvms_adaptive_dynamics evaluate BAG --frosen --output x",
    "python -m uvms_adaptive_dynamics simulate --output B --duration -5",
    "python3 bootstrap.py tests", "python test/nothing.py", "python test/fuzz.py --case 3 files",
    "ros2 launch uvms_adaptive_dynamics estimator.launch.py param_file:=x",
    "ros2 launch uvms_adaptive_dynamics nothing.launch.py",
    "ros2 run uvms_adaptive_dynamics nothing", "unheard_of --of"])
def test_a_command_that_does_not_exist_is_found(line):
    assert wrong_with(line)


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_setting_that_a_page_gives_is_accepted(page):
    """`section.name: value` in a sentence or a table."""
    wrong = []
    for name, value in SETTING.findall(page.read_text()):
        section, _, field = name.partition(".")
        group = getattr(Config(), section, None)
        if group is None:
            continue
        try:
            assert hasattr(group, field), f"no setting {name}"
            Config().with_values({name: parse_yaml(value, "a page", ConfigError)})
        except (AssertionError, ConfigError) as error:
            wrong.append(str(error))
    assert wrong == []
