# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Logical rates of the expert-token exchange: bytes of every distinct destination over the time."""
import csv
import gzip
from math import comb

# Published by the kernels' authors (README of deepseek-ai/DeepEP, legacy and hybrid-ep): GB/s.
# kernel, tier, ranks, sms, dispatch, combine.
HYBRID_H100_RDMA = [("hybridep", 1, 16, 16, 72, 63), ("hybridep", 1, 32, 16, 58, 57),
                    ("hybridep", 1, 64, 16, 50, 50)]
HYBRID_B200_NVLINK = [("hybridep", 0, 8, 16, 735, 674)]
HYBRID_GB200_NVLINK = [("hybridep", 0, 8, 32, 764, 737), ("hybridep", 0, 16, 32, 707, 666),
                       ("hybridep", 0, 32, 32, 642, 605), ("hybridep", 0, 36, 32, 632, 597)]
DEEPEP_H800_NVLINK = [("deepep", 0, 8, 24, 153, 158)]
DEEPEP_H800_RDMA = [("deepep", 1, 16, 24, 43, 43), ("deepep", 1, 32, 24, 58, 57),
                    ("deepep", 1, 64, 24, 51, 50)]


def distinct(units, experts, top_k):
    """Expected distinct units of one token, uniform routing."""
    return units * (1 - comb(experts - experts // units, top_k) / comb(experts, top_k))


def deepep_nvlink(path, ranks, hidden=7168, tokens=4096, top_k=8, experts=256):
    """Rates by SMs from aiconfigurator's tables. The type of its dispatch is not said (FP8 on some
    builds), so the combine, which is bf16, stands for both directions."""
    rates = []
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if (int(row["hidden_size"]), int(row["num_token"]), int(row["num_topk"]),
                    int(row["num_experts"]), int(row["node_num"])) != (hidden, tokens, top_k,
                                                                       experts, 1):
                continue
            seconds = float(row["combine_transmit_us"]) * 1e-6
            rate = tokens * distinct(ranks, experts, top_k) * 2 * hidden / seconds / 1e9
            sms = int(row["combine_sms"])
            if sms >= 8:
                rates.append(("deepep", 0, ranks, sms, round(rate), round(rate)))
    return sorted(set(rates), key=lambda r: r[3])


def scaled(rates, factor):
    return [(*r[:4], r[4] * factor, r[5] * factor) for r in rates]


def entries(rates, source):
    return [{"kernel": kernel, "tier": tier, "ranks": ranks, "sms": sms,
             "dispatch": f"{dispatch:g} GB/s", "combine": f"{combine:g} GB/s", "source": source}
            for kernel, tier, ranks, sms, dispatch, combine in rates]
