#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""gpu_summary.py on made-up output: what is met, missed and not measured."""
import json
import os
import tempfile
import unittest

from gpu_summary import MODELS, ROWS, summary


class Summary(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, *lines):
        with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
            for line in lines:
                file.write(line if isinstance(line, str) else json.dumps(line))
                file.write("\n")

    def rows(self):
        return {(row[0], row[1]): row[2:] for row in summary(self.folder.name).rows}

    def row(self, what):
        return next(row[2:] for row in summary(self.folder.name).rows if row[0] == what)

    def test_nothing_is_measured_without_files(self):
        states = [row[2:] for row in summary(self.folder.name).rows]
        self.assertEqual(set(states), {("not measured", "")})
        self.assertGreater(len(states), 40)

    def test_the_documents_have_the_table_of_the_run_that_is_kept(self):
        docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
        rows = [f"| {what} | {'only shown' if goal == '-' else goal} | {measured} | {state} |"
                for what, goal, measured, state in summary(os.path.join(docs, "measured", "h200-2026-11-28-evening")).rows]
        with open(os.path.join(docs, "validation-notes.md"), encoding="utf-8") as file:
            section = file.read().split("\n## What a GPU has measured\n")[1].split("\n## ")[0]
        listed = [line for line in section.splitlines() if line.startswith("| ")]
        self.assertEqual(listed, ["| what | goal | measured | |"] + rows)

    def test_the_worst_line_decides(self):
        self.write("benchmarks.txt", "noise", {"kernel": "copy", "GBps": 4000},
                   {"kernel": "gemm", "shape": "a", "us": 1, "of_reference": 0.99},
                   {"kernel": "gemm dgrad", "shape": "b", "us": 1, "of_reference": 0.97},
                   {"kernel": "grouped forward", "shape": "Mixtral up", "us": 1, "of_reference": 0.89, "of_roofline": 0.89},
                   {"kernel": "grouped wgrad", "shape": "DeepSeek-V3 up", "us": 1, "of_reference": 0.61, "of_roofline": 0.86},
                   {"kernel": "grouped forward without cuBLASLt", "shape": "x", "us": 1, "of_reference": 0.1},
                   {"kernel": "router_topk", "shape": "4096 tokens, E 256, k 8, groups 1/1, softmax", "us": 9.5,
                    "of_copy": 0.2},
                   {"kernel": "router_topk", "shape": "262144 tokens, E 256, k 8, groups 1/1, softmax", "us": 90,
                    "of_copy": 0.61},
                   {"kernel": "quantize 1x128", "shape": "q", "us": 1, "of_copy": 0.5})
        self.assertEqual(self.row("dense bf16 GEMM"), ("0.970 (gemm dgrad, b), worst of 2, without gemm wgrad", "MISSED"))
        self.assertEqual(self.row("grouped GEMM bf16, >= 512 tokens an expert"),
                         ("0.860 (grouped wgrad, DeepSeek-V3 up), worst of 2, without grouped dgrad", "PARTLY"))
        self.assertEqual(self.row("the same of one dense product, whatever it moves"),
                         ("0.610 (grouped wgrad, DeepSeek-V3 up), worst of 2", ""))
        self.assertEqual(self.row("grouped GEMM bf16, Mixtral")[1], "MISSED")
        self.assertEqual(self.row("router, E 256, k 8, 4,096 tokens")[1], "met")
        self.assertEqual(self.row("router, E 256, k 8, 256 K tokens")[1], "met")
        self.assertEqual(self.row("norms, SwiGLU, RoPE, cross entropy, permutation, casts"),
                         (f"0.500 (quantize 1x128, q), without rms_norm, rms_norm_bwd, rms_norm+residual and {len(ROWS) - 3} "
                          "more", "MISSED"))
        self.assertEqual(self.row("AdamW"), ("not measured", ""))
        self.assertEqual(self.row("benchmarks that broke off"), ("0", "met"))

    def test_sections_errors_and_who_took_what(self):
        self.write("benchmarks-dense.txt", {"kernel": "gemm", "shape": "a", "us": 1, "by": "cuBLASLt", "of_reference": 1},
                   {"kernel": "gemm wgrad", "shape": "b", "error": "no algorithm"})
        self.write("benchmarks-attention.txt", {"kernel": "attention_bwd in any order", "shape": "1x8, bf16", "us": 1,
                                                "TFLOPS": 1, "by": "cuDNN"},
                   {"kernel": "attention in codes", "shape": "1x8, fp8", "us": 1, "by": "own", "of_reference": 1.2},
                   {"kernel": "attention", "shape": "1x8, fp32", "us": 1, "TFLOPS": 1, "by": "own"})
        taken = "bf16 products and attention in the benchmarks"
        self.assertEqual(self.row("benchmarks that broke off"), ("1 (gemm wgrad: no algorithm)", "MISSED"))
        self.assertEqual(self.row(taken), ("0 by our own (of 2)", "met"))
        self.assertEqual(self.row("attention of fp8 codes, conversions included")[1], "met")
        self.write("benchmarks-grouped.txt", {"kernel": "grouped wgrad without cuBLASLt", "shape": "x", "us": 1,
                                              "by": "own tensor cores"})
        self.assertEqual(self.row(taken),
                         ("1 by our own (grouped wgrad without cuBLASLt, x: own tensor cores)", "MISSED"))

    def test_passes_over_an_operand_count(self):
        self.write("benchmarks-narrow.txt", {"kernel": "quantize tensor", "shape": "q", "us": 1, "of_copy": 0.9,
                                             "least_of_copy": 0.54},
                   {"kernel": "gemm fp8", "shape": "a", "us": 1, "of_reference": 0.99},
                   {"kernel": "gemm fp8 wgrad", "shape": "a", "us": 1, "of_reference": 0.7})
        rows = "norms, SwiGLU, RoPE, cross entropy, permutation, casts"
        self.assertEqual(self.row(rows)[1], "PARTLY")
        self.write("benchmarks-rows.txt", *[{"kernel": k, "shape": "r", "us": 1, "of_copy": 0.91} for k in ROWS])
        self.assertEqual(self.row(rows), (f"0.900 (quantize tensor, q), worst of {len(ROWS) + 1}", "met"))
        self.assertEqual(self.row("the same and quantising, every operand counted once"), ("0.540 (quantize tensor, q)", ""))
        self.assertEqual(self.row("dense fp8 GEMM"), ("0.990 (gemm fp8, a)", "met"))
        self.assertEqual(self.row("dense fp8 GEMM of gradients, transposes included"), ("0.700 (gemm fp8 wgrad, a)", ""))

    def test_attention_is_joined_with_pytorch_by_shape(self):
        shape = "1x4096, 64/8 heads of 128, bf16"
        self.write("benchmarks.txt", {"kernel": "attention", "shape": shape, "us": 100, "TFLOPS": 580},
                   {"kernel": "attention", "shape": "other", "us": 100, "TFLOPS": 1})
        self.write("pytorch-attention.txt", {"kernel": "attention", "shape": shape, "us": 110, "TFLOPS": 500})
        rows = self.rows()
        self.assertEqual(rows["attention, 4K to 32K causal", "above PyTorch's SDPA"], ("1.10x (" + shape + "), without 1x8192, 1x16384, 1x32768", "PARTLY"))
        self.assertEqual(rows["attention, 4K to 32K causal", ">= 97% of cuDNN's published on an H200"],
                         ("0.98x (" + shape + "), without 1x8192, 1x16384, 1x32768", "PARTLY"))
        longer = [{"kernel": "attention", "shape": shape.replace("4096", str(seq)), "us": 100, "TFLOPS": 700}
                  for seq in (8192, 16384, 32768)]
        self.write("benchmarks-attention.txt", *longer)
        self.assertEqual(self.rows()["attention, 4K to 32K causal", ">= 97% of cuDNN's published on an H200"][1], "met")

    def test_training(self):
        slow = [{"tokens_per_s": 1, "mfu": 0}] * 4  # warm-up
        self.write("train-mixtral-bf16.steps.jsonl", *slow, *[{"tokens_per_s": 1200, "mfu": 0.46}] * 5)
        self.write("train-mixtral-fp8.steps.jsonl", *slow, *[{"tokens_per_s": 1100, "mfu": 0.4}] * 5)
        self.write("train-mixtral-bf16.txt", "step 1 {", "{", ' "predicted": {"step_s": 1.04, '
                   '"device_bytes_recorded_routing": 1020}, "measured": {"step_s": 1.0, "device_bytes": 1000}', "}")
        torch = lambda rate, micro=2: json.dumps({"tokens_per_second": rate, "microbatch": micro}, indent=1)
        self.write("pytorch-mixtral.txt", "warning", torch(1000))
        self.write("pytorch-mixtral-deterministic.txt", torch(1000))
        self.write("curve.txt", {"what": "bf16 over fp32 losses", "worst": 0.012})
        for model in MODELS[1:]:  # ratios above mixtral's
            self.write(f"train-{model}-bf16.steps.jsonl", *slow, *[{"tokens_per_s": 5000, "mfu": 0.4}] * 5)
            self.write(f"train-{model}-bf16.txt", '{"predicted": {"step_s": 1}, "measured": {"step_s": 1}}')
        same, any_order = (f"training against PyTorch, tokens/s, {what}" for what in ("the same bits every time", "in any order"))
        self.assertEqual(self.row(same), ("1.20x (mixtral, eager), without qwen3, deepseek", "PARTLY"))
        self.assertEqual(self.row(any_order), ("not measured", ""))  # nothing of Pleat's is like that run of PyTorch's
        for model in MODELS[1:]:
            self.write(f"pytorch-{model}-deterministic.txt", torch(1000))
        self.assertEqual(self.row(same), ("1.20x (mixtral, eager), worst of 3", "met"))
        self.assertEqual(self.row("MFU, mixtral-shaped"), ("46.0% (eager)", "met"))
        self.assertEqual(self.row("tokens/s, mixtral-shaped"),
                         ("eager 1200; fp8 1100; PyTorch in any order 1000; PyTorch the same bits every time 1000", ""))
        self.write("train-mixtral-graphs.steps.jsonl", *slow, *[{"tokens_per_s": 1300, "mfu": 0.5}] * 5)
        self.write("train-mixtral-order.steps.jsonl", *slow, *[{"tokens_per_s": 1250, "mfu": 0.48}] * 5)
        self.assertEqual(self.row(same), ("1.30x (mixtral, graphs), worst of 3", "met"))
        self.assertEqual(self.row("MFU, mixtral-shaped"), ("50.0% (graphs)", "met"))
        self.write("models.tsv", "mixtral\t4\t2", "qwen3\t4\t2")
        self.assertEqual(self.row(any_order),
                         ("1.25x (mixtral, eager in any order, PyTorch's microbatch 2), without qwen3, deepseek", "PARTLY"))
        self.write("train-mixtral-batch32.steps.jsonl", *slow, *[{"tokens_per_s": 1400, "mfu": 0.55}] * 5)
        self.write("pytorch-mixtral-batch32.txt", torch(1100))
        self.assertEqual(self.row("training against PyTorch, tokens/s, in any order, 32 sequences a step")[0][:5], "1.27x")
        self.assertEqual(self.row("MFU, qwen3-shaped"), ("40.0% (eager)", "met"))
        self.assertEqual(self.row("fp8 against bf16, tokens/s")[1], "MISSED")
        self.assertEqual(self.row("200 steps of bf16 against fp32's losses"), ("1.20%", "MISSED"))
        self.assertEqual(self.row("predicted step time"), ("4.0% (mixtral), worst of 3", "met"))
        self.write("predict-mixtral.txt", "note", json.dumps({"step_s": 1.02}, indent=1))
        self.assertEqual(self.row("predicted step time"), ("2.0% (mixtral), worst of 3", "met"))
        self.assertEqual(self.row("predicted device memory"), ("2.0% (mixtral-bf16), without qwen3, deepseek", "MISSED"))

    def test_calibration_and_steps(self):
        self.write("h200-sxm-pleat.samples", {"residuals": [
            {"family": "gemm", "held_out_median": 0.03}, {"family": "gemm fp8 blocks", "held_out_median": 0.05},
            {"family": "uneven grouped_gemm", "held_out_median": 0.5},
            {"family": "attention_fwd", "held_out_median": 0.04}, {"family": "all_reduce", "held_out_median": 0.9}]})
        self.write("status.tsv", "calibration\t0\t580", "conformance\t0\t20", "sanitizer-racecheck-conformance\t1\t200",
                   "sanitizer-racecheck-elementwise\t0\t20", "sanitizer-racecheck-control\t0\t0", "sanitizer-memcheck-conformance\t0\t1")
        self.write("sanitizer-racecheck-conformance.txt", {"program": "p", "tests": 4, "passed": 2, "skipped": 0,
                                                           "not_run": 1, "failed": ["Suite.One"]})
        self.write("elementwise.tests.jsonl", {"test": "CudaLargeIndex.ReachesTheLastRow", "state": "passed"})
        self.assertEqual(self.row("calibration, held-out GEMM, median"),
                         ("5.0% (gemm fp8 blocks), worst of 2", "MISSED"))
        self.assertEqual(self.row("calibration, held-out attention, median"), ("4.0% (attention_fwd)", "met"))
        self.assertEqual(self.row("calibration, held-out memory-bound, median"), ("not measured", ""))
        self.assertEqual(self.row("calibration takes"), ("580 s", "met"))
        self.assertEqual(self.row("conformance on the GPU"), ("exit status 0 after 20 s", "met"))
        self.assertEqual(self.row("compute-sanitizer racecheck"),
                         ("exit status 1 after 220 s, 2 passed, 0 skipped, 1 failed (Suite.One first), 1 not run", "MISSED"))
        self.assertEqual(self.row("matrices beyond 2^31 elements"), ("0 failed (passed)", "met"))
        self.write("elementwise.tests.jsonl", {"test": "CudaLargeIndex.ReachesTheLastRow", "state": "skipped"})
        self.assertEqual(self.row("matrices beyond 2^31 elements"), ("1 failed (skipped)", "MISSED"))
        self.assertEqual(self.row("compute-sanitizer memcheck"), ("not measured", ""))

    def test_every_memory_bound_family_counts(self):
        for family in ("memory_bound", "rope", "head_norm", "sweep", "convert", "dequantize", "optimizer", "router_bwd",
                       "embedding"):
            self.write("h200-sxm-pleat.samples", {"residuals": [
                {"family": "norm", "held_out_median": 0.01}, {"family": "loss", "held_out_median": None},
                {"family": family, "kind": "its kind", "held_out_median": 0.5}]})
            self.assertEqual(self.row("calibration, held-out memory-bound, median"),
                             ("50.0% (its kind), worst of 2", "MISSED"))

    def test_without_held_out_points_nothing_is_measured(self):
        self.write("h200-sxm-pleat.samples", {"residuals": [{"family": "rope", "held_out_median": None}]})
        self.assertEqual(self.row("calibration, held-out memory-bound, median"), ("not measured", ""))


if __name__ == "__main__":
    unittest.main()
