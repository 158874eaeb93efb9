#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""gpu_tests.py on a script that acts as a GoogleTest program."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = """#!/bin/bash
case "$*" in
  *--gtest_list_tests*)
    printf 'Running main() from gtest_main.cc\\nCuda/Suite.\\n  Passes/gpu  # GetParam() = x\\n  Crashes/gpu  # y\\n'
    printf 'Other.\\n  Fails\\n  IsSkipped\\n  Hangs\\n  DISABLED_Never\\n' ;;
  *Passes*) echo "${PLEAT_TEST_WORD:-fine}" ;;
  *Crashes*) echo 'an illegal access'; kill -SEGV $$ ;;
  *Fails*) echo 'expected 1, got 2'; exit 1 ;;
  *IsSkipped*) echo '[  SKIPPED ] Other.IsSkipped' ;;
  *Hangs*) sleep 30 & echo "$$ $!" >"${PIDS:-/dev/null}"; wait ;;
  *) echo "unknown: $*"; exit 3 ;;
esac
"""
HERE = os.path.dirname(os.path.abspath(__file__))


class Tests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.program = os.path.join(self.folder.name, "program")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(self.program, 0o755)
        self.record = os.path.join(self.folder.name, "record.jsonl")

    def tearDown(self):
        self.folder.cleanup()

    def run_all(self, *options):
        done = subprocess.run([sys.executable, os.path.join(HERE, "gpu_tests.py"), self.program, "--timeout", "0.5",
                               "--record", self.record, *options], stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, json.loads(done.stdout.splitlines()[-1]), done.stdout

    def recorded(self):
        with open(self.record, encoding="utf-8") as file:
            return [json.loads(line)["test"] for line in file]

    def test_a_crash_does_not_end_the_others(self):
        status, last, said = self.run_all("--jobs", "3")
        self.assertEqual(status, 1)
        self.assertEqual(last, {"program": "program", "tests": 5, "passed": 1, "skipped": 1, "not_run": 0,
                                "failed": ["Cuda/Suite.Crashes/gpu", "Other.Fails", "Other.Hangs"]})
        self.assertIn("expected 1, got 2", said)
        self.assertIn("timed out", said)
        self.assertNotIn("fine", said)

    def test_goes_on_with_what_has_not_passed(self):
        self.run_all()
        self.run_all("--resume")
        again = self.recorded()[5:]
        self.assertEqual(sorted(again), ["Cuda/Suite.Crashes/gpu", "Other.Fails", "Other.Hangs"])
        self.run_all()
        self.assertEqual(len(self.recorded()), 5)

    def test_the_time_of_all_is_no_failure_of_one(self):
        status, last, _ = self.run_all("--timeout", "60", "--seconds", "2", "--alone", "Passes")
        self.assertEqual((status, last["failed"]), (1, ["Cuda/Suite.Crashes/gpu", "Other.Fails"]))
        self.assertEqual(last["not_run"], 2)  # the one that hangs, and the one that was to run alone
        self.assertNotIn("Other.Hangs", self.recorded())

    def test_what_it_started_ends_with_it(self):
        pids = os.path.join(self.folder.name, "pids")
        process = subprocess.Popen([sys.executable, os.path.join(HERE, "gpu_tests.py"), self.program, "--filter", "x"],
                                   env={**os.environ, "PIDS": pids}, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not (os.path.exists(pids) and os.path.getsize(pids)) and time.monotonic() < end:
            time.sleep(0.02)
        with open(pids, encoding="utf-8") as file:
            started = [int(pid) for pid in file.read().split()]
        # No session of its own: who ends the session of this program ends its tests, too.
        self.assertEqual({os.getsid(pid) for pid in started}, {os.getsid(0)})
        process.terminate()
        self.assertEqual(process.wait(timeout=30), 75)
        while any(os.path.exists(f"/proc/{pid}/exe") for pid in started) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertFalse([pid for pid in started if os.path.exists(f"/proc/{pid}/exe")])

    def test_wraps(self):
        _, last, said = self.run_all("--wrap", "env PLEAT_TEST_WORD=wrapped false")
        self.assertEqual(last["passed"], 0)
        self.assertIn("Cuda/Suite.Passes/gpu: 1", said)


if __name__ == "__main__":
    unittest.main()
