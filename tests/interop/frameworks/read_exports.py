# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the lines of interop_write_exports with the frameworks that they are for.

A line is accepted (what the framework derives equals what the plan says), refused by Pleat with a
message, or failed. Prints a table of counts, and the failures; ends with 1 if there are any.
"""

import argparse
import collections
import json
import sys
import traceback


def differences(line, derived):
    """What the framework derives otherwise than the plan says."""
    plan, found = line["plan"], []
    for name in ("dp", "microbatches", "edp", "layers"):
        if name in derived and derived[name] != plan[name]:
            found.append(f"{name} {derived[name]}, the plan says {plan[name]}")
    for rank, theirs in derived.get("parameters", {}).items():
        ours = plan["parameters"][int(rank)]
        if theirs is not None and theirs != ours:
            found.append(f"{theirs} parameters on stage {rank}, the plan says {ours}")
    return found


def readers(targets, flags, build):
    made = {}
    if "megatron" in targets:
        import read_megatron
        made["megatron"] = read_megatron.Reader(flags, build)
    if "megatron-bridge" in targets:
        import read_bridge
        made["megatron-bridge"] = read_bridge.Reader()
    if "torchtitan" in targets:
        import read_torchtitan
        made["torchtitan"] = read_torchtitan.Reader()
    if "deepspeed" in targets:
        import read_deepspeed
        made["deepspeed"] = read_deepspeed.Reader()
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("exports")
    parser.add_argument("--flags", required=True)
    parser.add_argument("--targets", default="megatron,megatron-bridge,torchtitan,deepspeed")
    parser.add_argument("--build", action="store_true", help="count parameters of built models")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--show", type=int, default=40)
    options = parser.parse_args()
    targets = options.targets.split(",")
    with open(options.exports) as file:
        lines = [json.loads(text) for text in file]
    made = readers(targets, options.flags, options.build)
    counts = collections.defaultdict(collections.Counter)
    failures, later, built, older = [], *(collections.Counter() for _ in range(3))
    for line in lines:
        target = line["target"]
        if target not in made:
            continue
        row = counts[target, "random" if line["kind"] == "random" else "found"]
        if "refused" in line:
            row["refused"] += 1
            continue
        try:
            derived = made[target].read(line)
            found = differences(line, derived)
            for count in derived.get("parameters", {}).values():
                built["not built" if count is None else "built"] += 1
        except Exception as error:  # whatever the framework raises
            if type(error).__name__ == "Older":
                row["older"] += 1
                older[str(error)] += 1
                continue
            if options.trace:
                traceback.print_exc()
            place = traceback.extract_tb(error.__traceback__)[-1]
            found = [f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"]
            derived = {"later": []}
        later.update(derived["later"])
        row["failed" if found else "accepted"] += 1
        if found:
            failures.append(f"{target} {line['model']} {line['summary']}: {'; '.join(found)}")
    print("| read by | plans | accepted | refused by Pleat with a message | "
          "refused by the wheel, not by the stated version | failed |")
    print("|---|---|---|---|---|---|")
    for (target, kind), row in counts.items():
        print(f"| {made[target].name} {made[target].version} | {kind} | {row['accepted']} | "
              f"{row['refused']} | {row['older']} | {row['failed']} |")
    if built:
        print(f"stages whose parameters were counted: {dict(built)}")
    if older:
        print(f"refused by the wheel: {dict(older)}")
    print(f"flags younger than the wheel, with their exports: {dict(later)}")
    for text in failures[: options.show]:
        print("FAILED", text[:600])
    return 1 if failures or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
