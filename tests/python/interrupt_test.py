# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Long calls release the interpreter's lock and end with Ctrl-C."""

import signal
import subprocess
import sys
import threading
import time
import unittest

import pleat

LONG = """
import sys, pleat
print("begins", flush=True)
try:
    %s
except KeyboardInterrupt:
    print("interrupted", flush=True)
    p = pleat.predict("mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256), pleat.Plan(ep=8))
    print(p.plan, flush=True)
    sys.exit(0)
print("went on", flush=True)
"""
SEARCH = (
    """pleat.plan("deepseek-v3", "gb300-nvl72", 1024, pleat.Workload(4096, 4096), numerics="any")"""
)
BOOKING = """pleat.capacity("deepseek-v3", tokens="15T", deadline="60d", gpus="1024..16384",
                   clusters=["h100-sxm", "gb200-nvl72"])"""
ESTIMATES = """
    e = pleat.Estimator("mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256))
    while True: e.estimate([pleat.Plan(ep=8, micro_batch=m % 4 + 1) for m in range(4096)])"""


class Interrupt(unittest.TestCase):
    """SIGINT while the work is in C++."""

    def interrupt(self, code: str) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", LONG % code], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        self.assertEqual(process.stdout.readline(), "begins\n")
        time.sleep(1.5)
        self.assertIsNone(process.poll(), "it was over before it could be interrupted")
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        rest, _ = process.communicate(timeout=60)
        self.assertTrue(rest.startswith("interrupted\n"), rest)
        self.assertIn("EP8", rest)  # the module works on
        self.assertLess(time.monotonic() - begin, 30)

    def test_search(self) -> None:
        self.interrupt(SEARCH)

    def test_capacity(self) -> None:
        self.interrupt(BOOKING)

    def test_estimates(self) -> None:
        self.interrupt(ESTIMATES)


class Lock(unittest.TestCase):
    """Other threads of Python work on."""

    def test_is_released(self) -> None:
        counted, over = 0, False

        def count() -> None:
            nonlocal counted
            while not over:
                counted += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        begin = time.monotonic()
        pleat.plan(
            "mixtral-8x7b", "h100-sxm", 64, pleat.Workload(4096, 256), time_limit=1, tp=[1, 2, 4]
        )
        took = time.monotonic() - begin
        over = True
        thread.join()
        self.assertGreater(counted, 20 * took)


if __name__ == "__main__":
    unittest.main()
