#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention at the shapes of pleat_gpu_benchmarks, in the same words: one
JSON object a line, median times of runs that start with a flushed L2."""
import argparse
import json
import sys

import torch
import torch.nn.functional as F

SHAPES = [(32768 // seq, seq, 32, 8, 128) for seq in (4096, 8192, 16384, 32768)]
SHAPES += [(1, seq, 64, 8, 128) for seq in (4096, 8192, 16384, 32768)] + [(4, 4096, 32, 4, 128)]


def shape_name(batch, seq, heads, groups, d):
    return f"{batch}x{seq}, {heads}/{groups} heads of {d}, bf16"


def median_seconds(work, flush, runs):
    seconds = []
    for _ in range(3 + runs):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.zero_()
        begin.record()
        work()
        end.record()
        end.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    return sorted(seconds[3:])[runs // 2]


def measure(shape, runs, flush):
    batch, seq, heads, groups, d = shape
    q, k, v = (torch.randn(batch, n, seq, d, device="cuda", dtype=torch.bfloat16, requires_grad=True)
               for n in (heads, groups, groups))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    grad = torch.randn_like(out)
    flops = 2.0 * batch * heads * seq * seq * d

    def forward():
        with torch.no_grad():
            F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    def backward():
        torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)

    for kernel, work, count in (("attention", forward, flops), ("attention_bwd", backward, 2.5 * flops)):
        seconds = median_seconds(work, flush, runs)
        print(json.dumps({"kernel": kernel, "shape": shape_name(*shape), "us": seconds * 1e6,
                          "TFLOPS": count / seconds * 1e-12}), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--runs", type=int, default=30)
    o = p.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    for shape in SHAPES:
        measure(shape, o.runs, flush)


if __name__ == "__main__":
    main()
