#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Executes the notebooks of docs/notebooks from their first cell to their last.

A notebook fails if a cell does, if its pictures are not as many as those that are committed, or if it is
larger than a page should be. `--write` keeps the outputs: that is how they are committed. Run by an
interpreter with nbclient, ipykernel, pandas and matplotlib (PLEAT_NOTEBOOKS_PYTHON), which
`./pleat.sh test --full` installs; without one the test is skipped.
"""
import argparse
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/notebooks"
MOST_BYTES = 200_000
SKIPPED = 77


def pictures(notebook):
    return sum(
        "image/png" in output.get("data", {})
        for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)


def without_noise(notebook):
    """Outputs as they are committed: no times, no colours, no HTML beside the text, no warnings."""
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type != "code":
            continue
        cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
        for output in cell.outputs:
            output.get("data", {}).pop("image/svg+xml", None)
    notebook.metadata.pop("widgets", None)
    return notebook


def execute(path, write):
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    committed = pictures(notebook)
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3",
                                     resources={"metadata": {"path": str(ROOT)}})
    client.execute()
    problems = []
    if write:
        nbformat.write(without_noise(notebook), path)
    elif pictures(notebook) != committed:
        problems.append(f"{path.name}: {pictures(notebook)} pictures, {committed} are committed")
    if path.stat().st_size > MOST_BYTES:
        problems.append(f"{path.name}: {path.stat().st_size} bytes, at most {MOST_BYTES}")
    if any(not cell.outputs and "print(" in cell.source and "def " not in cell.source
           for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"):
        problems.append(f"{path.name}: a cell prints, and no output of it is committed")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="without .ipynb; default: all")
    parser.add_argument("--write", action="store_true", help="keep the outputs in the files")
    asked = parser.parse_args()
    python = os.environ.get("PLEAT_NOTEBOOKS_PYTHON", "")
    if not python:
        print("PLEAT_NOTEBOOKS_PYTHON is not set: ./pleat.sh test --full installs what notebooks need")
        return SKIPPED
    if os.path.realpath(sys.executable) != os.path.realpath(python) or sys.prefix == sys.base_prefix:
        os.execv(python, [python, *sys.argv])
    binary = os.environ.get("PLEAT_BINARY", str(ROOT / "build/cli/pleat"))
    with tempfile.TemporaryDirectory() as cache:
        os.environ.update({
            "PATH": os.pathsep.join([os.path.dirname(binary), os.path.dirname(python), os.environ["PATH"]]),
            "PLEAT_CACHE_DIR": cache, "PLEAT_CONFIG": "", "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": "1",
        })
        problems = []
        for path in sorted(FOLDER.glob("*.ipynb")):
            if not asked.names or path.stem in asked.names:
                problems += execute(path, asked.write)
                print("ran", path.name, flush=True)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
