# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""mypy --strict on the package, and on a program that uses it. 77: there is no mypy."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
USE = """
import pleat

p = pleat.predict("mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256), pleat.Plan(tp=2))
step: float = p.step_s
found = pleat.plan("mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256), tp=[1, 2])
name: str = found.best.plan
"""
WRONG = USE + "pleat.Plan(tp='two')\nwrong: int = p.plan\n"


def mypy(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run mypy as the package is configured."""
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


def main() -> int:
    """Check all of it."""
    if mypy("--version").returncode != 0:
        print("mypy is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        cache = ["--strict", "--cache-dir", folder]
        package = mypy(*cache, "-p", "pleat")
        print(package.stdout, package.stderr)
        if package.returncode != 0:
            return 1
        for text, fine in ((USE, True), (WRONG, False)):
            program = Path(folder) / "program.py"
            program.write_text(text, encoding="utf-8")
            found = mypy(*cache, str(program))
            print(found.stdout, found.stderr)
            if (found.returncode == 0) != fine or (not fine and found.stdout.count("error:") != 2):
                print("expected it to be", "right" if fine else "wrong in two places")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
