# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Measured NCCL collectives within one node: a table of times by ranks and bytes, and the law

    t = latency + latency_per_rank (n - 1) + wire / rate * (1 + sqrt(S0 / X))

for groups that were not measured. X: bytes of the whole tensor (all-to-all: of one rank's buffer);
wire: X (n - 1) / n, twice that for all_reduce."""
import csv
import gzip
import math

import numpy as np
from scipy.optimize import minimize

NAMES = {"all_gather": "all_gather", "reduce_scatter": "reduce_scatter",
         "all_reduce": "all_reduce", "alltoall": "all_to_all"}
TYPE_BYTES = {"half": 2, "int8": 1}
LARGE = 1 << 20


def read(path):
    """{collective: {ranks: {bytes: seconds}}}: geometric mean of the types of one size."""
    logs = {}
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            size = int(row["message_size"]) * TYPE_BYTES[row["nccl_dtype"]]
            key = (NAMES[row["op_name"]], int(row["num_gpus"]), size)
            logs.setdefault(key, []).append(math.log(float(row["latency"]) * 1e-3))
    times = {}
    for (name, ranks, size), values in sorted(logs.items()):
        times.setdefault(name, {}).setdefault(ranks, {})[size] = math.exp(sum(values) / len(values))
    return times


def interpolate(series, size):
    """As core/spec/kernel_tables.cpp: linear in the bytes."""
    sizes = sorted(series)
    if size <= sizes[0]:
        return series[sizes[0]]
    if size >= sizes[-1]:
        return series[sizes[-1]] * size / sizes[-1]
    high = next(s for s in sizes if s > size)
    low = sizes[sizes.index(high) - 1]
    share = (size - low) / (high - low)
    return (1 - share) * series[low] + share * series[high]


def leave_one_out(times):
    """Relative errors of every inner point of 1 MB and more, interpolated from its neighbours."""
    errors = []
    for by_ranks in times.values():
        for series in by_ranks.values():
            for size in sorted(series)[1:-1]:
                if size < LARGE:
                    continue
                others = {s: t for s, t in series.items() if s != size}
                errors.append(abs(interpolate(others, size) / series[size] - 1))
    return errors


def wire_share(name, ranks):
    return (2 if name == "all_reduce" else 1) * (ranks - 1) / ranks


def fit_law(name, by_ranks):
    """{latency, latency_per_rank, rate, slow_start} over all measured group sizes."""
    points = [(n, x, t) for n, series in by_ranks.items() for x, t in series.items()
              if x >= 1 << 16]
    n, x, t = np.array(points, dtype=float).T
    share = np.array([wire_share(name, int(v)) for v in n])

    def time(z):
        a, b, rate, s0 = np.exp(z)
        return a + b * (n - 1) + x * share / rate * (1 + np.sqrt(s0 / x))

    def objective(z):
        e = np.log(time(z) / t)
        return np.mean(np.sqrt(e * e + 1e-4))

    start = np.log([8e-6, 5e-7, 5e11, 5e6])
    best = minimize(objective, start, method="Nelder-Mead",
                    options={"maxiter": 4000, "maxfev": 4000, "xatol": 1e-4, "fatol": 1e-7})
    a, b, rate, s0 = (float(v) for v in np.exp(best.x))
    return {"latency": a, "latency_per_rank": b, "rate": rate, "slow_start": s0}


def write_table(path, times, title):
    lines = [f"# {title}", "collective,ranks,bytes,us"]
    for name in ("all_gather", "reduce_scatter", "all_reduce", "all_to_all"):
        for ranks, series in sorted(times[name].items()):
            lines += [f"{name},{ranks},{size},{1e6 * t:.5g}" for size, t in sorted(series.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
