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

"""`inspect`: report what a recording holds and what is wrong with it, and propose settings for it.
"""
from __future__ import annotations

import argparse

from .. import options
from ..config.files import TO_DO, reasons_in
from ..disk.writing import output_file, write_file
from ..model.metrics import shown
from ..terminal import coloured

SLOW_GAPS = 3.0        # median intervals from which the longest gap is reported
LONG_ABSENCE = 5.0     # [s] at the beginning or end of a recording, longer than drivers start
NEEDED_SHARE = 0.5     # share of ticks: a channel that counts in fewer has a problem


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = ("Report what a recording holds, find everything that is wrong with its "
                          "topics, units, frames, signs, order and clocks in one run, and propose "
                          "settings for it (docs/recordings.md).")
    parser.add_argument("bag", metavar="BAG", type=options.bag,
                        help="folder of a bag, one .mcap or .db3 file, or another log: .BIN, "
                             ".tlog, a .csv with its mapping")
    options.add_piece(parser, "start here [s]; at most three minutes are inspected",
                      "stop here [s]")
    parser.add_argument("--write", type=options.new_file, metavar="YAML",
                        help="write the proposed settings to this file, for --config")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Print the report; returns 0, or 1 if something is missing. Raises UvmsError if the recording
    cannot be read."""
    options.check_piece(args)
    config = options.config_of(args)
    if args.write is not None:
        output_file(args.write)
    # Imported here: loading the arm's model takes a second.
    from .inspection.inspection import inspect_recording
    from .recording import Piece
    inspection = inspect_recording(Piece(args.bag, args.begin, args.end), config,
                                   reasons_in(args.config) if args.config else None)
    text = inspection.proposal.yaml(str(args.bag))
    if args.write is not None:      # before the output, whose reader may go away (`| head`)
        write_file(args.write, text)
    print("\n".join(_topics(inspection)))
    print("\n".join(_motion(inspection)))
    if args.write is not None:
        print(f"\n{args.write}: {len(inspection.proposal.config.changed())} settings; next: "
              + (f"complete the lines marked {TO_DO} in it, then " if inspection.proposal.missing
                 else "")
              + f"evaluate {args.bag} --config {args.write} --output DIR")
    elif inspection.proposal.changes():
        print(f"\n{coloured('settings to use (or --write FILE)', 'bold')}\n{text}")
    return 1 if inspection.proposal.missing else 0


def _topics(inspection) -> list[str]:
    """The table of topics."""
    found = inspection.survey
    topics = f"{len(found.topics)} topic{'' if len(found.topics) == 1 else 's'}"
    lines = [*found.warnings,
             f"{found.piece.path}: {found.length:.1f} s, {topics}; inspected "
             f"{found.piece.begin:.0f} to {found.piece.end:.0f} s", "",
             f"{'role':<13}{'topic':<36} {'type':<46} {'messages':>9}{'Hz':>8}{'gap s':>8}"
             f"{'delay s':>9}  remarks"]
    role_of = {topic.name: role for role, topic in inspection.chosen.items()}
    silent = [name for name, topic in found.topics.items() if not topic.count]
    for name, topic in sorted(found.topics.items(), key=lambda item: item[0] not in role_of):
        if not topic.count:
            continue
        role = role_of.get(name, "")
        row = (f"{role:<13}{name:<36} {topic.type:<46} {topic.count:>9}"
               f"{shown(topic.rate, '.1f'):>8}{shown(topic.gap, '.2f'):>8}"
               f"{shown(topic.delay, '.3f'):>9}  {_remarks(topic, found.piece)}").rstrip()
        lines.append(coloured(row, "" if role else "dim"))
    if silent:
        lines.append(f"without a message: {', '.join(silent)}")
    return lines


def _remarks(topic, piece) -> str:
    remarks = []
    if topic.undecodable:
        remarks.append(f"{topic.undecodable} not decodable")
    if topic.unstamped:
        remarks.append("without stamps" if topic.unstamped == topic.looked
                       else f"{topic.unstamped} without stamp")
    if topic.backward:
        remarks.append(f"{topic.backward} stamps go back")
    if topic.rate and topic.gap * topic.rate > SLOW_GAPS:
        remarks.append("gaps")
    if topic.rate:
        absent = max(LONG_ABSENCE, SLOW_GAPS / topic.rate)
        if topic.first > piece.begin + absent:
            remarks.append(f"none before {topic.first:.0f} s")
        if topic.last < piece.end - absent:
            remarks.append(f"none after {topic.last:.0f} s")
    return ", ".join(remarks)


def _motion(inspection) -> list[str]:
    """Proposed settings with their reasons, what is missing, and notes."""
    proposal, lines = inspection.proposal, [""]
    for name, value in proposal.changes().items():
        given = list(value) if isinstance(value, tuple) else value
        lines.append(f"{coloured('set', 'bold yellow')} {name}: {given}   "
                     f"({proposal.reasons.get(name, 'as given')})")
    for sentence, line in proposal.missing:
        lines.append(f"{coloured('missing', 'bold red')} {sentence}"
                     + "".join(f"\n        {part}" for part in line.splitlines()))
    if inspection.motion is None:
        return [*lines, "frames, signs and units could not be checked without the inputs above"]
    lines += [f"{coloured('note', 'bold')} {warning}" for warning in inspection.motion.warnings]
    for role, reasons in inspection.motion.refused.items():
        said = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
        lines.append(f"{coloured('note', 'bold')} {role}: messages refused: {said}")
    if inspection.motion.unjudged:
        everything = ("the robot on all axes" if proposal.config.robot.vehicle
                      else "all joints, several times back and forth")
        lines.append(f"{coloured('note', 'bold')} not enough motion to judge "
                     f"{', '.join(inspection.motion.unjudged)}; move {everything}")
    few: dict[str, list[str]] = {}
    for name, (share, reason) in inspection.motion.counted.items():
        if share < NEEDED_SHARE:
            few.setdefault(reason, []).append(f"{name} {share:.0%}")
    lines += [f"{coloured('note', 'bold')} masked in most ticks, mostly for '{reason}', with the "
              f"share that counts: {', '.join(channels)}" for reason, channels in few.items()]
    if len(lines) == 1:
        lines.append(coloured("all inputs are there; frames, signs and units are consistent",
                              "bold green"))
    return lines
