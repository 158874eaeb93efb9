# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The pages of the command reference, from what `--help` says."""
import html


def pages(commands):
    """{name of a page: Markdown} of the list and of every command; subcommands stand with theirs."""
    made = {"index": _index(commands[""])}
    for name, help_ in commands.items():
        if not name or " " in name:
            continue
        text = f"# pleat {name}\n\n{_command(help_)}"
        for other, inner in commands.items():
            if other.startswith(f"{name} "):
                text += f"\n## pleat {other}\n\n{_command(inner, '###')}"
        made[name] = text
    return made


def _index(program):
    text = f"# Commands\n\n{_escaped(program.summary)} Every command has `--help`, those with many options `--help-all`, too; these pages are made of them.\n\n"
    text += "| command | does |\n|---|---|\n"
    for entry in program.entries("Subcommands"):
        text += f"| [pleat {entry.name}]({entry.name}.md) | {_escaped(entry.text)} |\n"
    return f"{text}\n```text\n{program.tail}\n```\n"


def _command(help_, level="##"):
    text = f"{_escaped(help_.summary)}.\n\n```text\n{help_.usage}\n```\n\n"
    for title, entries in help_.groups:
        text += f"{level} {title}\n\n| | |\n|---|---|\n"
        for entry in entries:
            text += f"| {_name(entry.name)} | {_escaped(entry.text)} |\n"
        text += "\n"
    tail = help_.tail
    if tail.startswith("Examples:\n"):
        text += f"{level} Examples\n\n"
        tail = "\n".join(line.removeprefix("  ") for line in tail.splitlines()[1:])
    return f"{text}```text\n{tail}\n```\n" if tail else text


def _name(name):
    """The flags of an option as code, what it takes behind them."""
    flags, _, value = name.partition(" ")
    return f'<code class="flags">{html.escape(flags)}</code> {_escaped(value)}'


def _escaped(text):
    """Text as it is: code in backticks stays code, all else is no Markdown."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts = [text.replace("`", "&#96;")]
    plain = str.maketrans({"*": "&#42;", "_": "&#95;", "[": "&#91;", "|": "&#124;", "<": "&lt;", "&": "&amp;"})
    return "`".join(part.translate(plain) if index % 2 == 0 else part for index, part in enumerate(parts))


def version_page(version, as_json):
    return (f"# Version\n\nThis site was built with **{version}**.\n\n```text\n$ pleat version\n{version}\n"
            f"$ pleat version --json\n{as_json}\n```\n\nWhat changed: [changelog](../CHANGELOG.md). Every file that "
            "Pleat writes has a `schema_version` of its own ([formats](../FORMATS.md)).\n")
