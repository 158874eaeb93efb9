# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Notebooks of docs/notebooks as pages: their text, code, what it printed, and its pictures."""
import json


def _text(value):
    return "".join(value)


def _fenced(text, language):
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _output(output):
    data = output.get("data", {})
    if "image/png" in data:
        return f"![What the code above draws](data:image/png;base64,{_text(data['image/png']).strip()})\n"
    text = _text(output["text"]) if "text" in output else _text(data.get("text/plain", ""))
    return _fenced(text, "text") if text.strip() else ""


def page(notebook, name):
    """Markdown of a notebook's text; `name` is that of the file, to take along."""
    parts = []
    for cell in json.loads(notebook)["cells"]:
        source = _text(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
            continue
        parts.append(_fenced(source, "python"))
        parts += filter(None, map(_output, cell["outputs"]))
    return "\n".join(parts) + f"\nThe notebook itself: `docs/notebooks/{name}` of the source.\n"
