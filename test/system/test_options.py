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

"""Command line options: values that a validator accepts, and its messages for all others."""
import argparse
import math
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from campaign_cases import also
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics import options
from uvms_adaptive_dynamics.__main__ import COMMANDS, MODULE_PROGRAM, main
from uvms_adaptive_dynamics.errors import ConfigError


def refused(validator, text):
    """The message with which a validator refuses a text: got and expected."""
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        validator(text)
    said = str(caught.value)
    assert said.startswith(f"got '{text}', expected ")
    return said


@given(st.floats())
def test_numbers_are_within_their_bounds(value):
    """Every float is returned unchanged or refused; NaN and infinity always are."""
    validator = options.number(-2.0, 3.0, "m")
    if -2 <= value <= 3:
        assert validator(repr(value)) == value
    else:
        assert "of at least -2 and of at most 3 [m]" in refused(validator, repr(value))


@given(st.integers())
def test_whole_numbers_are_not_below_their_least(value):
    """The one exception may be below it."""
    validator = options.whole(2, also=0)
    if value >= 2 or value == 0:
        assert validator(str(value)) == value
    else:
        assert "at least 2, or 0" in refused(validator, str(value))


@given(st.text())
def test_no_text_breaks_a_validator(text):
    """Any text gives a value or a refusal."""
    for validator in (options.number(), options.seconds(), options.whole(0), options.setting,
                      options.factor):
        try:
            validator(text)
        except argparse.ArgumentTypeError as error:
            assert "expected" in str(error)


@pytest.mark.parametrize("arguments, words", [
    ([], "expected a command, such as 'inspect'"), (["evaluat", "dive"], "mean 'evaluate'?"),
    (["--evaluate"], "required"), (["-h", "x"], "")])
def test_an_unknown_command_is_refused_in_one_sentence(arguments, words, capsys):
    """With the nearest one instead of all."""
    if not words:
        with pytest.raises(SystemExit):
            main(arguments)
        return
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_output_that_is_no_longer_read_ends_the_command_quietly():
    """As with `| head`: the status of a shell for it, and no traceback."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "uvms_adaptive_dynamics", "completion", "bash"],
                          stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("arguments, unbuffered", [
    (["completion", "bash"], ""), (["completion", "bash"], "1"), (["--help"], ""),
    (["export", "--help"], "1"), also(["--help"], "1"), also(["export", "--help"], "")])
def test_output_onto_a_full_disk_ends_the_command_with_a_sentence(arguments, unbuffered):
    """Status 2, and no traceback; `unbuffered`: of Python's output."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "uvms_adaptive_dynamics", *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("standard output cannot be written: No space left on device;")


def test_usage_names_the_program_as_it_was_called():
    """The installed command, or the module."""
    script = Path(__file__).parents[2] / "scripts" / "uvms"
    for program, called in (("uvms", [str(script)]), (MODULE_PROGRAM, [
            sys.executable, "-m", "uvms_adaptive_dynamics"])):
        said = subprocess.run([*called, "completion", "--help"], capture_output=True, text=True,
                              check=True).stdout
        assert said.startswith(f"usage: {program} completion ")


def test_times_are_above_zero_unless_a_least_is_given():
    """A duration must be positive; a point in time may be zero."""
    assert options.seconds()("0.5") == 0.5 and options.seconds(0.0)("0") == 0.0
    assert "above 0 [s]" in refused(options.seconds(), "0")
    assert "at least 10 [s]" in refused(options.seconds(10.0), "5")
    assert math.isclose(options.seconds(high=1.0)("1"), 1.0)


def test_paths_are_looked_at_before_any_work(tmp_path):
    """Recordings and files that must exist, and places that must be free or writable."""
    there, folder = tmp_path / "there", tmp_path / "folder"
    there.write_text("")
    folder.mkdir()
    assert options.file(str(there)) == options.bag(str(there)) == options.new_file(str(there))
    assert options.folder(str(folder)) == folder and options.folder(str(tmp_path / "new"))
    assert options.new_path(str(tmp_path / "new")) == tmp_path / "new"
    for validator, path in ((options.file, folder), (options.file, tmp_path / "new"),
                            (options.bag, tmp_path / "new"), (options.new_file, folder),
                            (options.folder, there), (options.new_path, there)):
        refused(validator, str(path))


@pytest.mark.parametrize("text, expected", [
    ("a.b=3", ("a.b", 3)), (" a.b =1e-3", ("a.b", 1e-3)), ("a.b=[1, 2]", ("a.b", [1, 2])),
    ("a.b=true", ("a.b", True)), ("a.b=", ("a.b", "")), ("a.b=x=y", ("a.b", "x=y"))])
def test_settings_are_read_as_yaml(text, expected):
    """1e-3, which YAML 1.1 reads as a string, is a number too."""
    assert options.setting(text) == expected


def test_settings_of_the_command_line_lie_over_those_of_the_file(tmp_path):
    """--set and --solver override --config, which overrides the defaults."""
    file = tmp_path / "c.yaml"
    file.write_text("/**: {ros__parameters: {estimation: {horizon: 7, grouping: channel}}}")
    parser = options.Parser()
    options.add_settings(parser)
    config = options.config_of(parser.parse_args(
        ["--config", str(file), "--set", "estimation.horizon=9", "--solver", "clarabel"]))
    assert config.changed() == {"estimation.horizon": 9, "estimation.grouping": "channel",
                                "estimation.solver": "clarabel"}


def test_a_parser_says_name_got_and_expected_in_one_sentence():
    """Like all other errors of this package, with a hint to --help."""
    parser = options.Parser()
    parser.add_argument("--step", type=options.seconds(high=0.05))
    with pytest.raises(ConfigError) as caught:
        parser.parse_args(["--step", "1"])
    assert str(caught.value) == ("--step: got '1', expected a number above 0 and of at most 0.05 "
                                 "[s]. See --help.")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_validator_of_this_package(command):
    """Plain `int` or `float` accept NaN and what is out of range; `Path` accepts anything."""
    parser = options.Parser()
    import_module(f"uvms_adaptive_dynamics.{COMMANDS[command][0]}").add_arguments(parser)
    plain = [action.dest for action in parser._actions if action.type in (int, float, str, Path)]
    assert not plain


@pytest.mark.parametrize("arguments, part", [
    ([], "expected a command"), (["dance"], "got 'dance', expected a command. See --help."),
    (["evaluate"], "required: BAG, --output"),
    (["campaign", "--output", "x", "--jobs", "none"], "--jobs: got 'none', expected a whole"),
    (["simulate", "--output", "x", "--payload", "9"], "--payload: got '9'"),
    (["coverage", "--output", "x", "--colour", "1"], "below 1"),
    (["forward", "x", "--parameters", "y", "--output", "z"], "does not exist")])
def test_bad_options_end_with_status_2_and_one_line(arguments, part, capsys):
    """No usage text and no traceback, for any command."""
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert part in said and said.count("\n") == 1
