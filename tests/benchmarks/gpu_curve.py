#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""The worst distance of bf16's losses from fp32's, of two logs of 200 steps: at most 1%.

  gpu_curve.py fp32.steps.jsonl bf16.steps.jsonl"""
import json
import sys


def losses(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line)["loss"] for line in file]


def main():
    wide, narrow = (losses(path) for path in sys.argv[1:3])
    if len(wide) != 200 or len(narrow) != 200:
        sys.exit(f"{len(wide)} and {len(narrow)} steps instead of 200")
    worst = max(abs(n / w - 1) for w, n in zip(wide, narrow))
    print(json.dumps({"what": "bf16 over fp32 losses", "steps": 200, "worst": worst, "last": [wide[-1], narrow[-1]]}))
    sys.exit(worst > 0.01)


if __name__ == "__main__":
    main()
