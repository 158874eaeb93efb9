# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Many plans at once have the numbers of single predictions."""

import itertools
import threading
import unittest

import numpy as np

import pleat

WORKLOAD = pleat.Workload(seq_len=4096, global_batch=256)


def some_plans() -> "list[pleat.Plan]":
    """Give plans of which some break a rule."""
    return [
        pleat.Plan(tp=tp, pp=pp, ep=ep, micro_batch=mb, recompute=recompute)
        for tp, pp, ep, mb, recompute in itertools.product(
            (1, 2, 3, 16), (1, 2, 4), (1, 4, 8), (1, 2), (None, ["moe_act", "layernorm"])
        )
    ]


class SameNumbers(unittest.TestCase):
    """Bit for bit."""

    def test_as_predicted_one_by_one(self) -> None:
        plans = some_plans()
        estimator = pleat.Estimator("mixtral-8x7b", "h100-sxm", 64, WORKLOAD)
        all_of_them = estimator.estimate(plans)
        self.assertEqual(len(all_of_them), len(plans))
        self.assertGreater(len(all_of_them.problems), 0)
        self.assertLess(len(all_of_them.problems), len(plans))
        for i, plan in enumerate(plans):
            try:
                one = pleat.predict("mixtral-8x7b", "h100-sxm", 64, WORKLOAD, plan)
            except pleat.RequestError as e:
                self.assertEqual(all_of_them.problems[i], e.text)
                self.assertTrue(np.isnan(all_of_them.step_s[i]))
                continue
            self.assertNotIn(i, all_of_them.problems)
            self.assertEqual(all_of_them.step_s[i], one.step_s)
            self.assertEqual(all_of_them.low_s[i], one.low_s)
            self.assertEqual(all_of_them.mfu[i], one.mfu)
            self.assertEqual(all_of_them.mfu_of_precision[i], one.mfu_of_precision)
            self.assertEqual(all_of_them.peak_bytes[i], one.peak_bytes)
            self.assertEqual(bool(all_of_them.fits[i]), one.fits)
        again = estimator.estimate(p.arguments() for p in plans)
        np.testing.assert_array_equal(again.step_s, all_of_them.step_s)

    def test_best(self) -> None:
        plans = [pleat.Plan(tp=8, ep=8), pleat.Plan(tp=1, ep=1), pleat.Plan(tp=2, pp=2, ep=8)]
        e = pleat.estimate(plans, "mixtral-8x7b", "h100-sxm", 64, WORKLOAD)
        best = e.best()
        assert best is not None
        self.assertTrue(e.fits[best])
        self.assertEqual(e.step_s[best], e.step_s[e.fits].min())

    def test_wrong_words(self) -> None:
        e = pleat.estimate(
            [{"dispatcher": "deepp"}, {"dispatcherr": "deepep"}, {"ep": 8}],
            "mixtral-8x7b",
            "h100-sxm",
            64,
            WORKLOAD,
        )
        self.assertEqual(sorted(e.problems), [0, 1])
        self.assertIn("did you mean", e.problems[1])

    def test_threads_share_an_estimator(self) -> None:
        plans = some_plans()
        estimator = pleat.Estimator("mixtral-8x7b", "h100-sxm", 64, WORKLOAD)
        answers: list = [None] * 4

        def work(i: int) -> None:
            answers[i] = estimator.estimate(plans).step_s

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for a in answers[1:]:
            np.testing.assert_array_equal(a, answers[0])


if __name__ == "__main__":
    unittest.main()
