#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Runs every test of a GoogleTest program in a process of its own: after an illegal access a CUDA context is
lost, and with it every test that would follow in the same process.

  gpu_tests.py PROGRAM [--jobs 4] [--record FILE] [--resume] [--wrap "compute-sanitizer ..."]

Needs no ctest, whose files name the folder of the build. Prints what failing tests said, at the end one JSON object;
exit status 1 if a test failed, 75 if --seconds ran out before the last one: with --resume the same command goes on."""
import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor


def tests_of(listing):
    """Full names out of --gtest_list_tests: suites end with a dot, tests are indented, # begins a remark."""
    names, suite = [], ""
    for line in listing.splitlines():
        name = line.split("  #")[0].rstrip()
        if name.startswith("  "):
            names.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return [n for n in names if "DISABLED_" not in n]


NOT_FINISHED = 75


def kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Runner:
    def __init__(self, o):
        self.o = o
        self.end = time.monotonic() + o.seconds
        self.results, self.left = {}, []
        self.running = set()  # process groups
        self.lock = threading.Lock()
        signal.signal(signal.SIGTERM, self.end_all)

    def end_all(self, *_):
        """Whoever ends this ends what it started: tests are no sessions of their own."""
        for group in list(self.running):
            kill_group(group)
        os._exit(NOT_FINISHED)

    def load(self):
        if self.o.resume and self.o.record and os.path.exists(self.o.record):
            with open(self.o.record, encoding="utf-8") as file:
                for line in file:
                    result = json.loads(line)
                    if result["state"] != "failed":
                        self.results[result["test"]] = result
        elif self.o.record:
            open(self.o.record, "w", encoding="utf-8").close()

    def run(self, test):
        left = self.end - time.monotonic()
        if left <= 1:
            with self.lock:
                self.left.append(test)
            return
        command = [*shlex.split(self.o.wrap), self.o.program, f"--gtest_filter={test}", "--gtest_brief=1"]
        begin = time.monotonic()
        limit = min(self.o.timeout, left)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", stdin=subprocess.DEVNULL, process_group=0)
        self.running.add(process.pid)
        try:
            output, status = process.communicate(timeout=limit)[0], process.returncode
        except subprocess.TimeoutExpired:
            kill_group(process.pid)  # what a wrapper started, too
            output, status = process.communicate()[0] + "\ntimed out\n", "timeout"
        self.running.discard(process.pid)
        if status == "timeout" and limit < self.o.timeout:  # the time of all, not its own
            with self.lock:
                self.left.append(test)
            return
        state = "failed" if status != 0 else "skipped" if "[  SKIPPED ]" in output else "passed"
        result = {"test": test, "state": state, "status": status, "seconds": round(time.monotonic() - begin, 2)}
        with self.lock:
            self.results[test] = result
            if state == "failed":
                print(f"--- {test}: {status}\n{output}", flush=True)
            if self.o.record:
                with open(self.o.record, "a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")

    def all(self, tests):
        self.load()
        todo = [t for t in tests if t not in self.results]
        alone = [t for t in todo if self.o.alone and re.search(self.o.alone, t)]
        with ThreadPoolExecutor(self.o.jobs) as pool:
            list(pool.map(self.run, [t for t in todo if t not in alone]))
        for test in alone:
            self.run(test)
        states = [self.results[t]["state"] for t in tests if t in self.results]
        failed = sorted(t for t in tests if t in self.results and self.results[t]["state"] == "failed")
        print(json.dumps({"program": os.path.basename(self.o.program), "tests": len(tests), "failed": failed,
                          "passed": states.count("passed"), "skipped": states.count("skipped"),
                          "not_run": len(self.left)}))
        return 1 if failed or not tests else NOT_FINISHED if self.left else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--alone", default="", help="tests that match run last, with nothing beside them")
    p.add_argument("--filter", default="*", help="as --gtest_filter")
    p.add_argument("--wrap", default="", help="a command before the program")
    p.add_argument("--timeout", type=float, default=300, help="seconds of one test")
    p.add_argument("--seconds", type=float, default=1e9, help="of all")
    p.add_argument("--record", help="a JSON line for every test that ran")
    p.add_argument("--resume", action="store_true", help="leaves out what --record says has not failed")
    o = p.parse_args()
    listing = subprocess.run([o.program, "--gtest_list_tests", f"--gtest_filter={o.filter}"], stdout=subprocess.PIPE,
                             text=True, check=True).stdout
    sys.exit(Runner(o).all(tests_of(listing)))


if __name__ == "__main__":
    main()
