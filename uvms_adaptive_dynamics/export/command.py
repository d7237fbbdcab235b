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

"""`export`: write a saved estimate in the format of another tool, or as physical quantities
(docs/exports.md)."""
from __future__ import annotations

import argparse
import textwrap

from .. import options
from ..disk.writing import output_file, write_file
from ..errors import ConfigError
from ..model.parameter_file import load_parameters
from .formats import FORMATS, export_as
from .identified import Identified, correction_notes
from .physical_quantities import physical_quantities
from .quantity_table import saved, shown

TABLE = "table"
NOTE_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "Write a saved estimate in the format of another tool:\n" + "\n".join(
        f"  {name:<12} {form.meaning}" for name, form in FORMATS.items()) + (
        f"\n  {TABLE:<12} masses, centres, inertias with deviations; printed, also .json or .csv")
    parser.add_argument("format", metavar="FORMAT", choices=[*FORMATS, TABLE],
                        help=f"one of {', '.join((*FORMATS, TABLE))}")
    parser.add_argument("parameters", metavar="PARAMETERS", type=options.file,
                        help="parameter file of ~/save or --save-parameters")
    parser.add_argument("--output", type=options.new_file, metavar="FILE",
                        help=f"file to write; optional with '{TABLE}'")
    parser.add_argument("--mass", type=options.number(above=0.0, unit="kg"), metavar="KG",
                        help="vehicle's mass without the arm's links, to separate the rigid body "
                             "from added mass; default: robot.dry_mass less the links, else "
                             "W / gravity")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file, print what it does not hold, and return 0; raises UvmsError for unusable
    input."""
    if args.output is None and args.format != TABLE:
        raise ConfigError(f"--output: got nothing, expected the file for '{args.format}'.")
    identified = Identified.of(options.config_of(args), load_parameters(args.parameters), args.mass)
    if args.format == TABLE:
        quantities = physical_quantities(identified)
        text = None if args.output is None else saved(quantities, args.output)
        print(shown(quantities))
        for note in correction_notes(identified):
            print(textwrap.fill(note, NOTE_WIDTH))
    else:
        made = export_as(identified, args.format)
        text = made.text
        print(f"The file holds {len(made.held)} parameters exactly as estimated.")
        for note in made.notes:
            print(textwrap.fill(note, NOTE_WIDTH, initial_indent="- ", subsequent_indent="  "))
    if text is not None:
        print(write_file(output_file(args.output), text))
    return 0
