# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Rates of causal attention, forward and backward, from cuDNN's published benchmark files
(NVIDIA/cudnn-frontend, benchmark/sdpa_benchmark_training): TFLOP/s on the counted flops."""
import csv

MATH = {"bfloat16": "bf16", "fp8": "fp8", "mxfp8": "mxfp8"}


def read(path, layout):
    """{(layout, math, pass): {tokens: TFLOP/s}} of runs that succeeded."""
    rates = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["attn_mask"] != "top_left" or row["success"] != "True":
                continue
            if row["data_type"] not in MATH or row.get("sliding_window_size"):
                continue
            tokens = int(row["q_seqlen"])
            if "profile_pass" in row and row["profile_pass"] in ("fwd", "bwd"):
                passes = {row["profile_pass"]: float(row["tflops"])}
            else:
                passes = {"fwd": float(row["fwd_tflops"]), "bwd": float(row["bwd_tflops"])}
            for name, rate in passes.items():
                key = (layout, MATH[row["data_type"]], "forward" if name == "fwd" else "backward")
                best = rates.setdefault(key, {})
                if rate > 0:  # the faster of deterministic and not
                    best[tokens] = max(best.get(tokens, 0.0), rate)
    return {key: points for key, points in rates.items() if points}


def entries(rates, source, scale=1.0):
    """The `attention` list of a profile."""
    result = []
    for (layout, math, name), points in sorted(rates.items()):
        result.append({"layout": layout, "math": math, "pass": name, "source": source,
                       "rates": [[tokens, f"{round(rate * scale, 1):g} TFLOP/s"]
                                 for tokens, rate in sorted(points.items())]})
    return result
