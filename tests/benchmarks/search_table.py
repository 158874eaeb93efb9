#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""What `pleat plan` costs for every shipped model on every shipped GPU cluster: CPU seconds, peak memory, and how good
the plan is that it has after one second.

  search_table.py --pleat build/cli/pleat --out FILE [--limit 30] [--first 20] [--only TEXT] [--gpus 8,64] [--changes]

Each request is searched twice: with a limit of one second, and with --limit. A line of JSON is appended to FILE after
each request, so the same command goes on where it was stopped. --first N takes N requests drawn from all of them, the
first of one shuffled list: --first 200 goes on with those of --first 100. At the end the table of what FILE has is
printed. Run it on an idle machine: limits are wall time. --changes adds what `pleat plan` does unless asked not to:
changes of the best plans, which look outside of the space."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

GPUS = (8, 64, 512, 4096, 16384)
SEQ_LEN = 4096
ANYTIME_SECONDS = 1
ANYTIME_NEAR = 0.03  # the goal: so much slower at most than what the whole search finds
NOTHING_FITS = 4  # exit status of pleat
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def names(folder):
    path = os.path.join(ROOT, "configs", folder)
    return sorted(f[:-5] for f in os.listdir(path) if f.endswith(".json"))


def gpu_clusters():
    """Those whose ranks have a GPU each: localhost's share cores."""
    def shares_cores(name):
        with open(os.path.join(ROOT, "configs", "clusters", name + ".json"), encoding="utf-8") as file:
            return "shared_cores" in json.load(file)
    return [name for name in names("clusters") if not shares_cores(name)]


def all_requests(gpus):
    return [{"model": m, "cluster": c, "gpus": n} for m in names("models") for c in gpu_clusters() for n in gpus]


def key(request):
    return request["model"], request["cluster"], request["gpus"]


def spread(requests, count):
    """So many of them, drawn. Every so many-th would be those of two sizes alone."""
    if count <= 0 or count >= len(requests):
        return requests
    shuffled = list(requests)
    random.Random(20261127).shuffle(shuffled)
    return shuffled[:count]


def arguments(request, limit, changes):
    """16 sequences a GPU, at most 16,384 a step: 67 million tokens."""
    batch = min(16 * request["gpus"], 16384)
    return ["plan", "--model", request["model"], "--cluster", request["cluster"], "--gpus", str(request["gpus"]),
            "--seq-len", str(SEQ_LEN), "--global-batch", str(batch), "--time-limit", str(limit),
            "--json"] + ([] if changes else ["--neighbours", "0"])


def used(pleat, request, limit, changes):
    """The answer (None: no plan), the exit status, CPU and wall seconds, and the peak memory in bytes."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        process = subprocess.Popen([pleat] + arguments(request, limit, changes), stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        text, said = out.read(), errors.read()
    cost = {"status": process.returncode, "cpu_s": usage.ru_utime + usage.ru_stime, "wall_s": wall,
            "peak_bytes": usage.ru_maxrss * 1024}
    if process.returncode not in (0, NOTHING_FITS):
        cost["error"] = said.strip().splitlines()[-1:] or [""]
    return (json.loads(text) if process.returncode == 0 else None), cost


def step_of(answer):
    return answer["best"][0]["step_s"] if answer and answer["best"] else None


def measure(pleat, request, limit, changes):
    early, _ = used(pleat, request, ANYTIME_SECONDS, changes)
    answer, cost = used(pleat, request, limit, changes)
    row = dict(request, **cost, limit_s=limit, changes=changes)
    row["step_s"], row["step_after_1s"] = step_of(answer), step_of(early)
    row["proven"] = bool(answer and answer["certificate"]["optimal"])
    return row


def known(path):
    if not os.path.exists(path):
        return []
    rows = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:  # the last line of a run that was killed
                continue
    return rows


def anytime(row):
    if row["step_s"] is None:
        return "nothing fits" if row["status"] in (0, NOTHING_FITS) else "error"
    if row["step_after_1s"] is None:
        return "no plan"
    return f"+{100 * (row['step_after_1s'] / row['step_s'] - 1):.1f}%"


def table(rows):
    lines = ["| model | cluster | GPUs | CPU s | peak MB | proven | after 1 s |", "|---|---|---:|---:|---:|---|---:|"]
    for r in sorted(rows, key=key):
        proven = "yes" if r["proven"] else "-" if r["step_s"] is None else f"no, in {r['limit_s']:g} s"
        lines.append(f"| {r['model']} | {r['cluster']} | {r['gpus']:,} | {r['cpu_s']:.1f} | "
                     f"{r['peak_bytes'] / 1e6:.0f} | {proven} | {anytime(r)} |")
    return lines


def summary(rows):
    """A line over all requests that have a plan, and one over those that nothing fits."""
    solved = [r for r in rows if r["step_s"] is not None]
    lines = [f"{len(rows)} requests, {len(solved)} with a plan, {sum(r['proven'] for r in solved)} proven" + costs(solved)]
    if solved:
        late = [r["step_after_1s"] / r["step_s"] - 1 for r in solved if r["step_after_1s"] is not None]
        near = sum(one <= ANYTIME_NEAR for one in late)
        lines[0] += f"; after 1 s {near} of {len(solved)} within {100 * ANYTIME_NEAR:g}% of the end"
        if late:
            lines[0] += f", {100 * max(late):.1f}% slower at most"
        lines[0] += f", {len(solved) - len(late)} without a plan"
    others = [r for r in rows if r["step_s"] is None]
    if others:
        lines.append(f"{len(others)} for which nothing fits" + costs(others))
    return "\n".join(lines)


def costs(rows):
    if not rows:
        return ""
    cpu = sorted(r["cpu_s"] for r in rows)
    return (f"; CPU seconds: median {statistics.median(cpu):.1f}, 95 of 100 below {cpu[int(0.95 * (len(cpu) - 1))]:.1f}, "
            f"most {cpu[-1]:.1f}, {sum(one > 20 for one in cpu)} above 20; peak memory at most "
            f"{max(r['peak_bytes'] for r in rows) / 1e6:.0f} MB, {sum(r['peak_bytes'] > 400e6 for r in rows)} above 400")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pleat", required=True, help="the program")
    parser.add_argument("--out", required=True, help="file of results, a line of JSON each; what it has is not run again")
    parser.add_argument("--limit", type=float, default=30, help="seconds a request")
    parser.add_argument("--first", type=int, default=0, help="only so many requests, drawn from all (0: all)")
    parser.add_argument("--only", default="", help="only models with this in their names")
    parser.add_argument("--changes", action="store_true", help="with changes of the best plans, as by default")
    parser.add_argument("--gpus", default=",".join(map(str, GPUS)))
    o = parser.parse_args()
    requests = [r for r in all_requests([int(n) for n in o.gpus.split(",")]) if o.only in r["model"]]
    requests = spread(requests, o.first)
    done = {key(r) for r in known(o.out)}
    with open(o.out, "a+b") as file:
        if file.tell() > 0:  # a line that was cut off ends here
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        for at, request in enumerate(requests):
            if key(request) in done:
                continue
            print(f"{at + 1} of {len(requests)}: {' '.join(map(str, key(request)))}", file=sys.stderr)
            file.write((json.dumps(measure(o.pleat, request, o.limit, o.changes)) + "\n").encode())
            file.flush()
    wanted = {key(r) for r in requests}
    rows = [r for r in known(o.out) if key(r) in wanted]
    print("\n".join(table(rows)))
    print()
    print(summary(rows))


if __name__ == "__main__":
    main()
