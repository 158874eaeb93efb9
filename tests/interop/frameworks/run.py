# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Writes exports and reads them with the frameworks' own parsers; 77 (skipped) without them."""

import argparse
import os
import pathlib
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--writer", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--flags", required=True)
    options = parser.parse_args()
    python = os.environ.get("PLEAT_FRAMEWORKS_PYTHON", "")
    if not python:
        print("PLEAT_FRAMEWORKS_PYTHON is not set: ./pleat.sh test --full installs the frameworks")
        return 77
    exports = pathlib.Path(options.build) / "exports.jsonl"
    subprocess.run([options.writer, str(exports)], check=True)
    reader = pathlib.Path(__file__).parent / "read_exports.py"
    return subprocess.run([python, "-B", str(reader), str(exports), "--flags", options.flags,
                           "--build"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
