# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Links and headings of a Markdown page, as GitHub reads them; code is left out."""
import re

FENCE = re.compile(r"^\s*(```|~~~)")
CODE_SPAN = re.compile(r"(`+)(.+?)\1", re.S)
LINK = re.compile(r"(\]\()([^)\s]+)(\s+\"[^\"]*\")?(\))")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")


def prose_lines(text):
    """(number, line) of the lines outside of fenced code, from 1."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def code_blocks(text):
    """(number of the first line, lines) of each fenced block."""
    block, start = None, 0
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            if block is None:
                block, start = [], number + 1
            else:
                yield start, block
                block = None
        elif block is not None:
            block.append(line)


def is_elsewhere(target):
    return re.match(r"[a-z][a-z0-9+.-]*:", target) is not None


def links(text):
    """(number of the line, target) of every link and image that stays in this project."""
    for number, line in prose_lines(text):
        bare = CODE_SPAN.sub(lambda code: "x" * len(code.group()), line)
        for match in LINK.finditer(bare):
            if not is_elsewhere(match.group(2)):
                yield number, match.group(2)


def slug(heading):
    """The anchor that GitHub gives a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")


def anchors(text):
    found = {}
    for _, line in prose_lines(text):
        if match := HEADING.match(line):
            name = slug(match.group(2))
            found[name] = found.get(name, -1) + 1
    return {name if count == 0 else f"{name}-{count}" for name, last in found.items()
            for count in range(last + 1)}


def replace_targets(text, change):
    """The text with `change(target)` in place of each target; code stays as it is."""
    lines, fenced = [], False
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            line = _outside_code(line, change)
        lines.append(line)
    return "\n".join(lines)


def _outside_code(line, change):
    covered = [match.span() for match in CODE_SPAN.finditer(line)]

    def changed(match):
        target = match.group(2)
        in_code = any(begin <= match.start() < end for begin, end in covered)
        if in_code or is_elsewhere(target):
            return match.group()
        return match.group(1) + change(target) + (match.group(3) or "") + match.group(4)

    return LINK.sub(changed, line)


def plain_pipes(text):
    """Pipes of code in tables without the backslash that GitHub wants and Python-Markdown prints."""
    lines, fenced = [], False
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.startswith("|"):
            line = CODE_SPAN.sub(lambda code: code.group().replace("\\|", "|"), line)
        lines.append(line)
    return "\n".join(lines)
