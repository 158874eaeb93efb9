# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/PYTHON.md run, in their order, as one program in an empty folder."""

import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def examples(page: Path) -> "list[tuple[int, str]]":
    """Give the Python of a page with the line where each block begins."""
    text = page.read_text(encoding="utf-8")
    return [
        (text[: m.start(1)].count("\n") + 1, m.group(1))
        for m in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)
    ]


class Documents(unittest.TestCase):
    """What the page shows is what happens."""

    def test_examples(self) -> None:
        page = Path(os.environ.get("PLEAT_PYTHON_PAGE", ROOT / "docs" / "PYTHON.md"))
        blocks = examples(page)
        self.assertGreater(len(blocks), 3)
        before = os.getcwd()
        names: dict = {"__name__": "example"}
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for line, code in blocks:
                    if "pandas" in code and not _has_pandas():
                        continue
                    padded = "\n" * (line - 1) + code
                    exec(compile(padded, str(page), "exec"), names)  # noqa: S102
            finally:
                os.chdir(before)
        print(f"{len(blocks)} examples", file=sys.stderr)


def _has_pandas() -> bool:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    unittest.main()
