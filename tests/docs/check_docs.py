#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The documents hold what they say.

usage: check_docs.py ROOT PLEAT

Every relative link and anchor in README.md, CONTRIBUTING.md and docs/ leads somewhere. Every command of
Pleat that stands in a code block or between backticks exists, with its options. Every page of docs/ is in
the navigation of mkdocs.yml, and what stands there is a page. README's code fits a terminal of 100 columns,
images are small. Exit codes: 0 fine, 1 problems.
"""
import os
import pathlib
import re
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs" / "site"))
import command_help  # noqa: E402
import page_links  # noqa: E402

# Pages that are made when the site is built, and the folder of files from outside of docs/.
GENERATED = ("reference/commands/index.md", "reference/version.md")
OUTSIDE = "project/"
# What pleat.sh does beside the commands of pleat; None: the rest is another program's.
SCRIPT = {"build": set(), "setup": {"--cuda", "--headers"}, "docs": set(), "wheel": set(), "test": None}
MAX_COLUMNS, MAX_IMAGE = 100, 200_000
START = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:mpirun [^|]*? )?(pleat|\./pleat\.sh)(?= |$)(.*)", re.S)


def documents(root):
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    return [page for page in pages if page.is_file()]


def check_links(root):
    found = []
    known = {}
    for page in documents(root):
        text = page.read_text("utf-8")
        for number, target in page_links.links(text):
            path, _, anchor = target.partition("#")
            place = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
            where = f"{page.relative_to(root)}:{number}"
            if not place.is_file():
                found.append(f"{where}: no file {target}")
            elif anchor and place.suffix == ".md":
                if place not in known:
                    known[place] = page_links.anchors(place.read_text("utf-8"))
                if anchor not in known[place]:
                    found.append(f"{where}: no heading for {target}")
    return found


def commands_of(text):
    """(number of the line, program, rest) of every command of Pleat in a page."""
    for start, block in page_links.code_blocks(text):
        number = 0
        while number < len(block):
            line, first = block[number], number
            while line.endswith("\\") and number + 1 < len(block):
                number += 1
                line = line[:-1] + block[number].strip()
            number += 1
            if match := START.match(line.strip()):
                yield start + first, match.group(1), match.group(2)
    for number, line in page_links.prose_lines(text):
        for span in page_links.CODE_SPAN.finditer(line):
            if match := START.match(span.group(2).strip()):
                yield number, match.group(1), match.group(2)


def words_of(rest):
    """The words of a command up to where the shell goes on with something else."""
    for end in (" | ", " > ", " && ", " || ", " ; "):
        rest = rest.split(end)[0]
    lexer = shlex.shlex(rest, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    return list(lexer)


def problem_of(program, words, commands):
    """What is wrong with a command, or nothing."""
    if not words or words[0].startswith("<"):
        return None
    if words[0].startswith("-"):
        return _unknown_option(words, commands[""].flags(), program)
    if program == "./pleat.sh" and words[0] in SCRIPT:
        allowed = SCRIPT[words[0]]
        return None if allowed is None else _unknown_option(words[1:], allowed, f"{program} {words[0]}")
    name = words[0]
    if name not in commands:
        return f"no command {program} {name}"
    inner = commands[name].entries("Subcommands")
    if inner and len(words) > 1 and not words[1].startswith("-"):
        name = f"{name} {words[1]}"
        if name not in commands:
            return f"no command {program} {name}"
    return _unknown_option(words, commands[name].flags(), f"{program} {name}")


def _unknown_option(words, flags, command):
    for word in words:
        flag = word.split("=")[0].rstrip(",.;:")
        if re.match(r"^--?[A-Za-z]", flag) and flag not in flags:
            return f"{command} has no {flag}"
    return None


def check_commands(root, commands):
    found = []
    for page in documents(root):
        text = page.read_text("utf-8")
        for number, program, rest in commands_of(text):
            where = f"{page.relative_to(root)}:{number}"
            try:
                problem = problem_of(program, words_of(rest), commands)
            except ValueError as error:
                problem = f"{program}{rest}: {error}"
            if problem:
                found.append(f"{where}: {problem}")
    return found


def _pages_of(nav):
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for value in entry.values():
                yield from _pages_of(value) if isinstance(value, list) else [value]


def check_navigation(root, nav):
    listed = list(_pages_of(nav))
    found = [f"mkdocs.yml: {page} stands there twice" for page in sorted(set(listed)) if listed.count(page) > 1]
    for page in listed:
        place = root / page.removeprefix(OUTSIDE) if page.startswith(OUTSIDE) else root / "docs" / page
        if page not in GENERATED and not place.is_file() and not place.with_suffix(".ipynb").is_file():
            found.append(f"mkdocs.yml: no page {page}")
    for page in sorted((root / "docs").rglob("*.md")):
        name = page.relative_to(root / "docs").as_posix()
        if name not in listed:
            found.append(f"docs/{name}: is not in the nav of mkdocs.yml")
    return found


def check_sizes(root):
    found = []
    for start, block in page_links.code_blocks((root / "README.md").read_text("utf-8")):
        found += [f"README.md:{start + index}: {len(line)} columns; at most {MAX_COLUMNS}"
                  for index, line in enumerate(block) if len(line) > MAX_COLUMNS]
    for image in sorted((root / "docs/images").iterdir()):
        size = image.stat().st_size
        if size > MAX_IMAGE:
            found.append(f"{image.relative_to(root)}: {size} bytes; at most {MAX_IMAGE}")
    return found


def main():
    import yaml
    root, binary = pathlib.Path(sys.argv[1]), sys.argv[2]
    nav = yaml.safe_load((root / "mkdocs.yml").read_text("utf-8"))["nav"]
    commands = command_help.read_commands(binary)
    found = check_links(root) + check_commands(root, commands) + check_navigation(root, nav)
    found += check_sizes(root)
    print("\n".join(found), file=sys.stderr)
    seen = sum(1 for page in documents(root) for _ in commands_of(page.read_text("utf-8")))
    print(f"{len(documents(root))} pages, {seen} commands")
    return 1 if found or seen < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
