#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention at the shapes of pleat_gpu_benchmarks, in the same words: one
JSON object a line, median times of runs that start with a flushed L2, of the backend that is fastest."""
import argparse
import json
import sys

import torch

from torch_sdpa import times

SHAPES = [(32768 // seq, seq, 32, 8, 128) for seq in (4096, 8192, 16384, 32768)]
SHAPES += [(1, seq, 64, 8, 128) for seq in (4096, 8192, 16384, 32768)] + [(4, 4096, 32, 4, 128)]
MLA = [(2, 4096, 128), (1, 8192, 128)]  # batch, seq, heads of 192, values of 128


def report(names, shape, flops, found):
    for i, (kernel, count) in enumerate(zip(names, flops)):
        if not found:
            print(json.dumps({"kernel": kernel, "shape": shape, "missing": "no backend takes it"}), flush=True)
            continue
        way = min(found, key=lambda w: found[w][i])
        seconds = found[way][i]
        print(json.dumps({"kernel": kernel, "shape": shape, "us": seconds * 1e6, "TFLOPS": count / seconds * 1e-12,
                          "by": way.name(), "all_us": {w.name(): t[i] * 1e6 for w, t in found.items()}}), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--runs", type=int, default=30)
    o = p.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    for batch, seq, heads, groups, d in SHAPES:
        flops = 2.0 * batch * heads * seq * seq * d
        report(("attention", "attention_bwd"), f"{batch}x{seq}, {heads}/{groups} heads of {d}, bf16", (flops, 2.5 * flops),
               times((batch, heads, groups, seq, d, d), o.runs, flush.zero_))
    for batch, seq, heads in MLA:
        pairs = 0.5 * batch * heads * seq * seq
        report(("mla_attention", "mla_attention_bwd"), f"{batch}x{seq}, {heads} heads of 192/128 bf16",
               (pairs * 2 * (192 + 128), pairs * 2 * (3 * 192 + 2 * 128)),
               times((batch, heads, heads, seq, 192, 128), o.runs, flush.zero_))


if __name__ == "__main__":
    main()
