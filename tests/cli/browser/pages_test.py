#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The pages of every command with --html in a headless browser, and pages that must be found faulty.

usage: pages_test.py PLEAT SOURCE_FOLDER
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import check_page

TARGET = ["--model", "qwen3-30b-a3b", "--cluster", "h100-sxm", "--gpus", "64", "--seq-len", "4096",
          "--global-batch", "512"]


def write_pages(pleat, source, folder, variables, names=("predict", "plan", "validate", "capacity")):
    """Returns the pages of these commands and what they said on stderr."""
    rows = folder / "rows.jsonl"
    shipped = (source / "configs" / "validation" / "runs.jsonl").read_text().splitlines()
    rows.write_text("\n".join(shipped[:60]) + "\n")
    commands = {
        "predict": ["predict", *TARGET, "--pp", "2", "--vpp", "4", "--ep", "8"],
        "plan": ["plan", *TARGET, "--precision", "bf16", "--tp", "1", "--cp", "1", "--pp", "1,2", "--ep", "8",
                 "--vpp", "1,4,6", "--dispatcher", "deepep"],  # a small space
        "validate": ["validate", "--rows", str(rows)],
        "capacity": ["capacity", "--model", "gpt-1.7b", "--clusters", "h100-sxm,gb300-nvl72", "--gpus", "8..64",
                     "--tokens", "100B", "--seq-len", "2048", "--global-batch", "512", "--deadline", "2d",
                     "--budget", "3k"],
    }
    pages, said = [], ""
    environment = os.environ | {"PLEAT_CACHE_DIR": str(folder / "cache")} | variables
    for name in names:
        command = commands[name]
        page = folder / f"{name}.html"
        done = subprocess.run([pleat, *command, "--html", str(page)], capture_output=True, text=True,
                              env=environment, check=False)
        if done.returncode != 0:
            sys.exit(f"{name}: exit code {done.returncode}: {done.stderr}")
        pages.append(page)
        said += done.stderr
    return pages, said


def faulty(page, name, old, new):
    """A copy of the page with one change."""
    text = page.read_text()
    if old not in text:
        sys.exit(f"{page.name} has no {old}")
    copy = page.with_name(f"faulty-{name.replace(' ', '-')}.html")
    copy.write_text(text.replace(old, new, 1))
    return copy


def main():
    if check_page.find_browser() is None:
        print("skipped: no browser; ./pleat.sh test installs one")
        return 77
    pleat, source = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pages, said = write_pages(pleat, source, folder, {})
        if "charts are left out" in said:
            print("skipped: no Plotly; ./pleat.sh installs it")
            return 77
        log = source / "tests" / "interop" / "data" / "megatron_mixtral.log"
        page = folder / "watch.html"
        subprocess.run([pleat, "watch", str(log), "--html", str(page)], capture_output=True, check=True)
        pages.insert(0, page)
        faults = 0
        # Plotly as pleat.sh cuts it down is a megabyte; a page is little more.
        for page in pages:
            size = page.stat().st_size
            if size > 1_500_000:
                print(f"{page.name} has {size} bytes")
                faults += 1
        if "what-if-data" not in pages[-1].read_text():
            print("the capacity page has no sliders")
            faults += 1
        for (page, width), problems in check_page.check_pages(pages).items():
            print(f"{page.name} at {width} pixels: " + ("\n  ".join(problems) or "fine"))
            faults += len(problems)
        # Without Plotly, a page says so; and what would be found if it were there: scripts that the
        # policy does not name, requests, inline styles, overflow.
        beside = folder / "plain"
        beside.mkdir()
        plain, said = write_pages(pleat, source, beside, {"PLEAT_PLOTLY": str(folder / "none.js")}, ["validate"])
        if "charts are left out" not in said or "charts are left out" not in plain[0].read_text():
            print("nothing says that Plotly is missing")
            faults += 1
        wrong = {
            "script": ("</body>", "<script>document.title = 'run'</script></body>", "script"),
            "request": ("</body>", '<img src="http://localhost:9/x.png"></body>', "http://localhost"),
            "style": ("<h1>", '<h1 style="color:red">', "style"),
            "overflow": ("<h1>", "<h1><pre>" + "wide " * 400 + "</pre>", "pixels wide"),
            "script of its own": ("'use strict';", "throw Error('broken');", "script"),
        }
        copies = {faulty(plain[0], fault, old, new): (fault, sign)
                  for fault, (old, new, sign) in wrong.items()}
        found = check_page.check_pages([plain[0], *copies], (390,), None, False, 3)
        for (page, _), problems in found.items():
            fault, sign = copies.get(page, (None, None))
            if fault is None and problems:
                print(f"a page without charts: {problems}")
                faults += 1
            if fault is not None and not any(sign in p for p in problems):
                print(f"a page with a wrong {fault} passes: {problems}")
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
