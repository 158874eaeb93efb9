#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Answers that pages show are what the program prints today.

usage: check_samples.py ROOT PLEAT PAGE...

Of each page every `$ pleat plan`, `predict` or `capacity` (or `$ ./pleat.sh plan` …) in a code block is run,
at 100 columns. What stands below the command, up to the next one, must be in the output: line after line,
and where `...` stands further down. Where nothing stands below it the next block is its answer, and a block that
begins with `...` goes on with the answer before it. A command whose answer shows an `error:` must fail with it.
Exit codes: 0 fine, 1 problems.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import check_docs
import page_links

RUN = re.compile(r"^\$ (?:pleat|\./pleat\.sh) (plan|predict|capacity) ")


def samples(text):
    """(number of the line, words, shown lines) of every command that is run."""
    last = None  # the command that a block without one may belong to
    for start, block in page_links.code_blocks(text):
        if block and not block[0].startswith("$ "):
            if last and (block[0] == "..." or last[1]):
                yield start, last[0], block
                last = last[0], False
            continue
        last, number = None, 0
        while number < len(block):
            first, command = number, block[number]
            while command.endswith("\\") and number + 1 < len(block):
                number += 1
                command = command[:-1] + block[number].strip()
            number += 1
            shown = number
            while number < len(block) and not block[number].startswith("$ "):
                number += 1
            if RUN.match(command):
                words = check_docs.words_of(command[2:])[1:]
                last = words, shown == number
                if shown < number:
                    yield start + first, words, block[shown:number]


def missing(shown, printed):
    """The first line that is shown and not printed in its place, or nothing."""
    parts, position = [[]], 0
    for line in shown:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    for part in parts:
        places = [place for place in range(position, len(printed) - len(part) + 1)
                  if printed[place:place + len(part)] == part]
        if not places:
            return next((line for line in part if line not in printed[position:]), part[0])
        position = places[0] + len(part)
    return None


def problems(root, binary, pages):
    """Commands of a page run in one folder: one reads the plan that another wrote."""
    found, count = [], 0
    for page in pages:
        answers = {}
        with tempfile.TemporaryDirectory() as folder:
            for number, words, shown in samples((root / page).read_text("utf-8")):
                count += 1
                if tuple(words) not in answers:
                    answers[tuple(words)] = subprocess.run(
                        [binary, *words], capture_output=True, text=True, cwd=folder,
                        env={**os.environ, "COLUMNS": "100", "PLEAT_CONFIG_DIR": str(root / "configs")})
                result = answers[tuple(words)]
                fails = any(l.startswith("error:") for l in shown)
                printed = result.stdout + (result.stderr if fails else "")
                line = missing(shown, printed.splitlines())
                if (result.returncode != 0) != fails or line is not None:
                    found.append(f"{page}:{number}: exit {result.returncode}, not printed: {line}\n{result.stderr}")
    return found, count


def main():
    root, binary = pathlib.Path(sys.argv[1]).resolve(), os.path.abspath(sys.argv[2])
    found, count = problems(root, binary, sys.argv[3:])
    print("\n".join(found), file=sys.stderr)
    print(f"{count} samples")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
