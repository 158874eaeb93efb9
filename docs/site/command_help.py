# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""What `pleat help` says, read into commands and their options.

The site makes its command reference of it, and a test compares the commands of the documents with it.
"""
import dataclasses
import os
import re
import subprocess

DESCRIPTION_COLUMN = 30  # where CLI11 writes what an option does
FLAG = re.compile(r"^(?:(-\w),)?(--[\w-]+)")


@dataclasses.dataclass
class Entry:
    """A positional, an option or a subcommand."""
    name: str  # as printed: "-m,--model TEXT"
    text: str  # what it does

    def flags(self):
        match = FLAG.match(self.name)
        return [flag for flag in match.groups() if flag] if match else []


@dataclasses.dataclass
class Help:
    summary: str
    usage: str
    groups: list  # of (title, entries)
    tail: str  # examples and what follows them

    def entries(self, title):
        return next((entries for name, entries in self.groups if name == title), [])

    def flags(self):
        return {flag for _, entries in self.groups for entry in entries for flag in entry.flags()}


def parse(text):
    """The help of one command."""
    lines = text.rstrip().splitlines()
    summary, usage = lines[0], lines[1].removeprefix("Usage: ")
    groups, position = [], 2
    while position < len(lines):
        line = lines[position]
        if not line:
            position += 1
        elif line.endswith(":") and not line.startswith(" ") and line != "Examples:":
            groups.append((line[:-1], []))
            position += 1
        elif line.startswith("  ") and groups:
            position += _add(groups[-1][1], line, lines[position + 1:position + 2])
        else:
            break
    return Help(summary, usage, groups, "\n".join(lines[position:]))


def _add(entries, line, next_line):
    """The number of lines that the entry takes: two where its name is too long for one."""
    if next_line and next_line[0].startswith(" " * DESCRIPTION_COLUMN):
        entries.append(Entry(line.strip(), next_line[0].strip()))
        return 2
    name, text = line[:DESCRIPTION_COLUMN], line[DESCRIPTION_COLUMN:]
    entries.append(Entry(name.strip(), text.strip()))
    return 1


def read_commands(binary):
    """{"plan": Help, "data make": Help, …} of all commands; "" is the program itself."""
    found = {}
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}  # lines as long as they are

    def read(words):
        result = subprocess.run([binary, "help", *words], capture_output=True, text=True, check=True, env=environment)
        help_ = parse(result.stdout)
        found[" ".join(words)] = help_
        for command in help_.entries("Subcommands"):
            read([*words, command.name])

    read([])
    return found
