#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""xz where there is none: compress PRESET MIB from stdin, expand FILE, both to stdout."""
import lzma
import shutil
import sys

PIECE = 1 << 20


def compress(preset: int, dictionary: int) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": dictionary << 20}]
    with lzma.open(sys.stdout.buffer, "wb", filters=filters) as to:
        shutil.copyfileobj(sys.stdin.buffer, to, PIECE)


def expand(path: str) -> None:
    try:
        with lzma.open(path) as file:
            shutil.copyfileobj(file, sys.stdout.buffer, PIECE)
    except (lzma.LZMAError, EOFError, OSError) as error:
        sys.exit(f"{path}: {error}")


if __name__ == "__main__":
    if sys.argv[1] == "compress":
        compress(int(sys.argv[2]), int(sys.argv[3]))
    else:
        expand(sys.argv[2])
