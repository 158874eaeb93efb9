# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The command line beside the module: PLEAT_BINARY with options, and the same as arguments."""

import os
import subprocess
from typing import Any

BINARY = os.environ.get("PLEAT_BINARY", "pleat")


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run pleat; its stderr is no terminal."""
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    return subprocess.run(
        [BINARY, *words], capture_output=True, text=True, check=False, env=environment
    )


def options_of(arguments: "dict[str, Any]") -> "list[str]":
    """Write the arguments of the module as options of the command line."""
    words: list[str] = []
    for name, value in arguments.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif isinstance(value, (list, tuple)):
            words += [option, ",".join(str(v) for v in value)]
        else:
            words += [option, str(value)]
    return words
