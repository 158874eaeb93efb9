#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""search_table.py with another program in pleat's place: what it runs, goes on with and says."""
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

import search_table

# Notes each call; with one second its plan takes 11 s instead of 10; on 8 GPUs nothing fits.
PROGRAM = """#!/usr/bin/env python3
import json, sys
def value(flag): return sys.argv[sys.argv.index(flag) + 1]
with open({calls!r}, "a") as file: file.write(" ".join(sys.argv[1:]) + "\\n")
if value("--gpus") == "8": sys.exit(4)
step = 11.0 if value("--time-limit") == "1" else 10.0
print(json.dumps({{"best": [{{"step_s": step}}], "certificate": {{"optimal": step == 10.0}}}}))
"""


class SearchTable(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.calls, self.out, self.pleat = (os.path.join(self.folder.name, n) for n in ("calls", "out", "pleat"))
        with open(self.pleat, "w", encoding="utf-8") as file:
            file.write(PROGRAM.format(calls=self.calls))
        os.chmod(self.pleat, os.stat(self.pleat).st_mode | stat.S_IXUSR)

    def tearDown(self):
        self.folder.cleanup()

    def run_table(self, *more):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "search_table.py")
        return subprocess.run([sys.executable, script, "--pleat", self.pleat, "--out", self.out, "--only", "mixtral-8x7b",
                               "--gpus", "8,64", *more], check=True, capture_output=True, text=True).stdout

    def called(self):
        with open(self.calls, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_every_gpu_cluster_and_size_is_searched_twice(self):
        text = self.run_table()
        clusters = search_table.gpu_clusters()
        self.assertNotIn("localhost", clusters)
        self.assertIn("h100-sxm", clusters)
        self.assertEqual(len(self.called()), 2 * 2 * len(clusters))
        self.assertEqual(sum("--time-limit 30" in call for call in self.called()), 2 * len(clusters))
        self.assertIn("nothing fits |", text)
        self.assertIn("+10.0% |", text)
        self.assertIn(f"{2 * len(clusters)} requests, {len(clusters)} with a plan, {len(clusters)} proven", text)
        self.assertIn(f"after 1 s 0 of {len(clusters)} within 3% of the end, 10.0% slower at most", text)
        self.assertIn(f"{len(clusters)} for which nothing fits", text)

    def test_goes_on_where_it_was_stopped(self):
        self.run_table("--first", "3")
        self.assertEqual(len(self.called()), 6)
        with open(self.out, "a", encoding="utf-8") as file:
            file.write('{"model": "mixtral-8x7b", "clus')  # killed while it wrote
        self.run_table("--first", "4")
        self.assertEqual(len(search_table.known(self.out)), len(self.called()) // 2)

    def test_what_is_spread_is_spread_over_all(self):
        requests = search_table.all_requests(search_table.GPUS)
        drawn = search_table.spread(requests, 100)
        for field in ("gpus", "cluster"):
            self.assertEqual({r[field] for r in drawn}, {r[field] for r in requests})
        self.assertEqual(search_table.spread(requests, 40), drawn[:40])
        self.assertEqual(search_table.spread(list(range(3)), 0), [0, 1, 2])

    def test_results_are_lines_of_json(self):
        self.run_table("--first", "1")
        row = search_table.known(self.out)[0]
        for field in ("model", "cluster", "gpus", "cpu_s", "peak_bytes", "step_s", "step_after_1s", "proven"):
            self.assertIn(field, row)
        self.assertEqual(json.loads(json.dumps(row)), row)


if __name__ == "__main__":
    unittest.main()
