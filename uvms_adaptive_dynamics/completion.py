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

"""`completion`: a script that lets the shell complete commands, options and their choices.

    source <(uvms completion bash)        # in ~/.bashrc; likewise for zsh
"""
from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module

from .options import Parser
from .terminal import INSTALLED_PROGRAM

SHELLS = ("bash", "zsh")
# zsh can use bash completion scripts.
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"
SCRIPT = """\
_uvms() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
    case "$COMP_CWORD/${{COMP_WORDS[1]}} $before" in
        1/*) words="{commands}" ;;
{choices}
    esac
    if [ -z "$words" ] && [ "${{word#-}}" != "$word" ]; then
        case "${{COMP_WORDS[1]}}" in
{options}
        esac
    fi
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _uvms {program}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = ("Print a completion script for a shell: "
                          f"source <({INSTALLED_PROGRAM} completion bash)")
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    """Print the script and return 0."""
    commands = import_module(".__main__", __package__).COMMANDS
    print((ZSH if args.shell == "zsh" else "") + script(commands), end="")
    return 0


def script(commands: Mapping[str, tuple[str, str]]) -> str:
    """The script for the commands in `__main__`; loads the module of each."""
    choices, options = [], []
    for name, (module, _) in commands.items():
        parser = Parser(prog=name)
        import_module(f".{module}", __package__).add_arguments(parser)
        flags: list[str] = []
        for action in parser._actions:
            flags += action.option_strings
            if action.choices:
                listed = " ".join(map(str, action.choices))
                for flag in action.option_strings or [name]:
                    choices.append(f'        */"{name} {flag}") words="{listed}" ;;')
        options.append(f'            {name}) words="{" ".join(flags)}" ;;')
    return SCRIPT.format(commands=" ".join(commands), choices="\n".join(choices),
                         options="\n".join(options), program=INSTALLED_PROGRAM)
