#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""`./pleat.sh test --full` in a tree of its own, with scripts in place of what builds, tests and installs."""
import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Every stub notes how it was called; a call that contains $FAILS fails.
STUB = """#!/bin/bash
printf '%s' "$(basename "$0")" >>"$CALLS"; printf ' %s' "$@" >>"$CALLS"; echo >>"$CALLS"
if [[ -n "$FAILS" && "$*" == *"$FAILS"* ]]; then exit 1; fi
"""


class FullTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = os.path.join(self.folder.name, "tree")
        self.bin = os.path.join(self.folder.name, "bin")
        self.calls = os.path.join(self.folder.name, "calls")
        self.record = os.path.join(self.root, "build", "full-tests.tsv")
        os.makedirs(os.path.join(self.root, "tests", "full"))
        for name in ("pleat.sh", "tests/full/parts.sh"):
            shutil.copy(os.path.join(ROOT, name), os.path.join(self.root, name))
        # What would be fetched is there, or was not to be had just now.
        self.write("tree/build/share/plotly.min.js", "")
        self.write("tree/build/.python-tools-failed", "")
        self.write("tree/.gitignore", "build*/\n")
        for name in ("mesh", "plan", "rates"):
            self.write(f"tree/build-fuzz/tests/fuzz/fuzz_{name}.seeds", "")
        self.write("tree/tests/fuzz/run_all.sh", STUB)
        for name in ("cmake", "ctest", "apt-get"):
            self.write(f"bin/{name}", STUB)
        self.write("bin/dpkg-query", '#!/bin/bash\nprintf "installed:%s " "$@"\n')
        self.write("bin/setarch", '#!/bin/bash\nshift\nexec "$@"\n')
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "one")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, path, text):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.root, check=True,
                       stdout=subprocess.DEVNULL)

    def run_full(self, *words, fails=""):
        with open(self.calls, "w", encoding="utf-8"):
            pass
        run = subprocess.run([os.path.join(self.root, "pleat.sh"), "test", *words], cwd=self.root, text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, check=False,
                             env={"PATH": self.bin + ":" + os.environ["PATH"], "HOME": self.folder.name,
                                  "CALLS": self.calls, "FAILS": fails})
        with open(self.calls, encoding="utf-8") as file:
            return run.returncode, file.read(), run.stderr

    def recorded(self):
        with open(self.record, encoding="utf-8") as file:
            return [line.split("\t")[2:4] for line in file.read().splitlines()]

    def test_wrong_options_end_before_anything_runs(self):
        for words, said in ((("--full", "--only"), "--only: needs a list of parts"),
                            (("--full", "--only", "asan,asn"), 'no part "asn"; parts: asan, tsan, asan/core'),
                            (("--full", "--only", "tests/3of2"), 'no part "tests/3of2"'),
                            (("--full", "--only", "tests/0of2"), 'no part "tests/0of2"'),
                            (("--full", "--only", "cuda/1of2"), 'no part "cuda/1of2"'),
                            (("--full", "--only", ""), "names no part"),
                            (("--full", "--fuzz-seconds", "x"), "--fuzz-seconds: needs a whole number"),
                            (("--only", "asan"), "are of the full tests"),
                            (("--list",), "are of the full tests")):
            code, calls, err = self.run_full(*words)
            self.assertEqual((code, calls), (2, ""), words)
            self.assertIn(said, err)
        self.assertFalse(os.path.exists(self.record))

    def test_only_the_parts_that_were_named_run_in_their_order(self):
        code, calls, err = self.run_full("--full", "--only", "tsan,asan/core")
        self.assertEqual(code, 0, err)
        self.assertEqual([line.split("--target ")[1].split()[0] for line in calls.splitlines() if "--target" in line],
                         ["tests/core/all", "tests/simulator/all", "tests/planner/all", "tests/backend/all"])
        self.assertEqual(self.recorded(), [["asan/core", "passed"], ["tsan/simulator", "passed"],
                                           ["tsan/planner", "passed"], ["tsan/backend", "passed"]])
        self.assertRegex(err, r"asan/core +passed, \d{4}-\d\d-\d\d \d\d:\d\d, \d min")
        self.assertRegex(err, r"asan/backend +not run\n")

    def test_a_failed_part_is_recorded_and_the_others_run(self):
        code, _, err = self.run_full("--full", "--only", "asan/core,asan/planner", fails="tests/core --output")
        self.assertEqual(code, 1)
        self.assertEqual(self.recorded(), [["asan/core", "failed"], ["asan/planner", "passed"]])
        self.assertIn("failed: asan/core\n", err)
        code, calls, _ = self.run_full("--full", "--missing", "--only", "asan/core,asan/planner")
        self.assertEqual(code, 0)
        self.assertNotIn("tests/planner", calls)
        self.assertEqual(self.recorded()[2:], [["asan/core", "passed"]])

    def test_tests_and_fuzzers_are_divided(self):
        code, calls, err = self.run_full("--full", "--only", "tests/2of2,fuzzers/1of2", "-R", "Layout")
        self.assertEqual(code, 0, err)
        self.assertIn("-I 2,,2 -R Layout\n", calls)
        self.assertRegex(calls, r"run_all.sh --build \S+ --seconds 600 mesh rates\n")
        self.assertRegex(err, r"tests +not whole:\ntests/1of2 +not run\ntests/2of2 +passed")
        _, _, err = self.run_full("--full", "--only", "tests/1of2")
        self.assertRegex(err, r"tests +passed, divided\n")

    def test_what_passed_is_of_a_commit(self):
        self.run_full("--full", "--only", "asan/core")
        self.git("commit", "-q", "--allow-empty", "-m", "two")
        code, calls, err = self.run_full("--full", "--list")
        self.assertEqual((code, calls), (0, ""))
        self.assertRegex(err, r"asan/core +not run; passed at [0-9a-f]{12}, \d{4}-")
        self.write("tree/new.txt", "x")
        self.git("add", "-A")
        self.assertRegex(self.run_full("--full", "--list")[2], r"full tests of [0-9a-f]{12}-dirty ")

    def test_the_reference_has_its_own_environment(self):
        self.write("tree/build/reference/.installed", "")
        code, calls, err = self.run_full("--full", "--only", "reference,tests")
        self.assertEqual(code, 0, err)
        ctest = [line for line in calls.splitlines() if line.startswith("ctest")]
        self.assertIn("-L ^reference$", ctest[0])
        self.assertIn("-LE ^(reference|frameworks|notebooks)$", ctest[1])


if __name__ == "__main__":
    unittest.main()
