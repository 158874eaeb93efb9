# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``pleat``: the binary that the wheel brings, with its configurations."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Become the bundled binary."""
    binary = Path(__file__).parent / "installed" / "bin" / "pleat"
    if not binary.exists():
        sys.exit(f"error: {binary} is not there: this is no installed wheel")
    os.execv(binary, ["pleat", *sys.argv[1:]])
