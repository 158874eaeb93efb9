# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Fits the constants of the A100's profile to vTrain's rows and to the A100 runs of Megatron in three
papers (arXiv:2104.04473 without its ZeRO-3 baseline, 2205.05198, and the baselines of 2402.15627 on up
to 1,024 GPUs), and writes them into it. The host's constants of vTrain's rows are an era's.

    python3 calibration/tables/fit_a100_constants.py --pleat build/cli/pleat
    python3 calibration/tables/fit_a100_constants.py --pleat build/cli/pleat --folds model
    python3 calibration/tables/fit_a100_constants.py --pleat build/cli/pleat --folds hidden

Needs numpy and scipy. --folds fits nothing for good: it reports the errors of rows whose model (or
hidden size, or paper) the fit has not seen, and of choosing among them. vTrain's rows of one node are
sums of a few dozen pieces (docs/validation-notes.md), so all of them together weigh as much as the
pieces would, not as 900 runs.
"""
import argparse
import collections
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

import numpy
from scipy.optimize import least_squares

from make_profiles import to_text
from run_parameters import SLOWEST

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROFILE = "a100-sxm-megatron.json"
PAPERS = ("2104.04473", "2205.05198", "2402.15627")
CONGESTED = 2240  # GPUs: MegaScale names what slows its baseline from there on; nothing here models it
WEIGHT = {"V-single": 90 / 900, "V-multi": 1.0, "C": 4.0}

# Name -> prior, lowest, highest. Shares are of the datasheet's rate. The prior holds a constant that
# the rows do not move where an A100's measurements of other people put it.
PARAMETERS = {
    "gemm_tflops": (255, 215, 290), "gemm_depth": (120, 0, 600), "gemm_fixed_us": (3, 1, 12),
    "gemm_wave": (0.4, 0, 1), "duty_slope": (0.1, 0, 0.4),
    "attention_clock": (0.9, 0.5, 1), "activation": (0.8, 0.4, 0.95), "memory": (0.8, 0.4, 0.95),
    "loss": (0.6, 0.2, 0.95), "optimizer": (0.8, 0.3, 0.95), "kernel_fixed_us": (4, 2, 10),
    "host_per_op_us": (6, 1, 10), "host_busy_ms": (1.5, 0, 5), "host_layer_ms": (0.5, 0, 3),
    "vtrain_layer_ms": (1, 0, 3), "vtrain_head_ms": (1, 0, 4), "vtrain_skew_us": (100, 0, 400),
    "tp_latency_us": (10, 2, 40), "tp_per_rank_us": (1, 0, 8),
    "tp_efficiency": (0.75, 0.4, 0.95), "tp_slow_start_mb": (2, 0.1, 20),
    "nic": (0.8, 0.3, 0.95), "nic_send": (0.6, 0.3, 0.95),
}


def quantity(value, unit):
    return f"{value:.4g} {unit}"


def by_graph(milliseconds):
    return {mode: quantity(milliseconds, "ms")
            for mode in ("none", "router", "partial", "full_iteration")}


def apply(profile, v):
    kernels, law = profile["kernels"], profile["gemm"]["bf16"]
    law |= {"rate": quantity(v["gemm_tflops"], "TFLOP/s"), "depth": float(f"{v['gemm_depth']:.3g}"),
            "fixed": quantity(v["gemm_fixed_us"], "us"), "wave": float(f"{v['gemm_wave']:.3g}"),
            "source": "fitted"}
    for family, share in (("memory_bound", "memory"), ("norm", "memory"), ("activation", "activation"),
                          ("loss", "loss"), ("optimizer", "optimizer")):
        kernels[family] |= {"memory_efficiency": float(f"{v[share]:.3g}"),
                            "fixed": quantity(v["kernel_fixed_us"], "us")}
    profile["sustained_clock"] |= {"duty_slope": float(f"{v['duty_slope']:.3g}"),
                                   "attention": float(f"{v['attention_clock']:.3g}")}
    profile |= {**SLOWEST, "host_per_op": quantity(v["host_per_op_us"], "us"),
                "host_busy_per_layer": quantity(v["host_busy_ms"], "ms"),
                "host_per_dense_layer": by_graph(v["host_layer_ms"])}
    profile["eras"] = {"vtrain": {"host_per_dense_layer": by_graph(v["vtrain_layer_ms"]),
                                  "host_per_head": quantity(v["vtrain_head_ms"], "ms"),
                                  "tp_skew": quantity(v["vtrain_skew_us"], "us")}}
    node, network = profile["collectives"]
    for name in ("all_gather", "reduce_scatter", "all_reduce", "all_to_all"):
        node[name] |= {"latency": quantity(v["tp_latency_us"], "us"),
                       "latency_per_rank": quantity(v["tp_per_rank_us"], "us"),
                       "efficiency": float(f"{v['tp_efficiency']:.3g}"),
                       "slow_start": quantity(v["tp_slow_start_mb"], "MB")}
    for name in ("all_gather", "reduce_scatter", "all_reduce"):
        network[name]["efficiency"] = float(f"{v['nic']:.3g}")
    network["send_recv"]["efficiency"] = float(f"{v['nic_send']:.3g}")  # NCCL gives it fewer channels
    return profile


def read_rows():
    folder = ROOT / "configs/validation"
    rows = [json.loads(line) for line in (folder / "vtrain.jsonl").read_text().splitlines()]
    for line in (folder / "runs.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["cluster"] == "a100-sxm" and any(p in row["era"] for p in PAPERS) and \
                "_z3_" not in row["id"] and ("2402" not in row["era"] or row["gpus"] < CONGESTED):
            rows.append(row)
    return rows


class Fit:
    def __init__(self, pleat, folder):
        self.pleat, self.folder = pleat, pathlib.Path(folder)
        self.profile = json.loads((ROOT / "configs/profiles" / PROFILE).read_text())
        (self.folder / "tables").symlink_to(ROOT / "configs/profiles/tables")
        self.names = list(PARAMETERS)
        self.prior, self.low, self.high = (numpy.array([p[i] for p in PARAMETERS.values()], float)
                                           for i in range(3))

    def values(self, u):
        return dict(zip(self.names, self.low + (self.high - self.low) * numpy.clip(u, 0, 1)))

    def predict(self, u, rows):
        text = json.dumps(apply(json.loads(json.dumps(self.profile)), self.values(u)))
        (self.folder / PROFILE).write_text(text)
        file = self.folder / "rows.jsonl"
        file.write_text("".join(json.dumps(r) + "\n" for r in rows))
        run = subprocess.run([self.pleat, "validate", "--rows", file, "--profile-dir", self.folder,
                              "--json"], capture_output=True, text=True, check=True)
        return {r["id"]: r for r in json.loads(run.stdout)["rows"]}

    def residuals(self, u, rows):
        predicted = self.predict(u, rows)
        start = (self.prior - self.low) / (self.high - self.low)
        result = [math.sqrt(WEIGHT[row["tier"]]) *
                  math.log(predicted[row["id"]]["predicted_step_s"] /
                           predicted[row["id"]]["measured_step_s"]) for row in rows]
        return numpy.array(result + list(0.05 * (u - start)))

    def solve(self, rows, evaluations):
        start = numpy.clip((self.prior - self.low) / (self.high - self.low), 0.01, 0.99)
        return least_squares(self.residuals, start, args=(rows,), loss="soft_l1", f_scale=0.05,
                             bounds=(0, 1), diff_step=0.02, max_nfev=evaluations).x


def choosing(rows, predicted):
    """Mean regret of the layout predicted best, and share of pairs in the right order."""
    groups = collections.defaultdict(list)
    for row in rows:
        if row["tier"].startswith("V"):
            p = predicted[row["id"]]
            groups[row["group"]].append((p["measured_step_s"], p["predicted_step_s"]))
    regrets, right, pairs = [], 0, 0
    for runs in groups.values():
        if len(runs) < 2:
            continue
        regrets.append(min(runs, key=lambda r: r[1])[0] / min(r[0] for r in runs) - 1)
        for a, b in itertools.combinations(runs, 2):
            pairs += 1
            right += (a[0] - b[0]) * (a[1] - b[1]) > 0
    return (statistics.fmean(regrets), right / pairs) if regrets else (math.nan, math.nan)


def report(title, rows, predicted):
    print(title)
    for tier in WEIGHT:
        errors = [predicted[r["id"]]["error"] for r in rows if r["tier"] == tier]
        if errors:
            print(f"  {tier:9} {len(errors):4} rows, mean |error| "
                  f"{100 * statistics.fmean(abs(e) for e in errors):6.2f}%, median "
                  f"{100 * statistics.median(abs(e) for e in errors):6.2f}%, P80 "
                  f"{100 * sorted(abs(e) for e in errors)[int(.8 * len(errors))]:6.2f}%, bias "
                  f"{100 * statistics.fmean(errors):+6.2f}%")
    regret, concordance = choosing(rows, predicted)
    print(f"  choosing: mean regret {100 * regret:.2f}%, pairs in order {100 * concordance:.2f}%",
          flush=True)


def fold_of(row, by):
    if row["tier"] == "C":
        return next(p for p in PAPERS if p in row["era"])
    model = row["model"]
    if by == "hidden":
        return f"hidden {model['hidden_size']}"
    return f"{model['num_hidden_layers']} x {model['hidden_size']}"


def leave_out(fit, rows, by, evaluations):
    seen = {}
    for out in sorted({fold_of(r, by) for r in rows}):
        u = fit.solve([r for r in rows if fold_of(r, by) != out], evaluations)
        unseen = [r for r in rows if fold_of(r, by) == out]
        predicted = fit.predict(u, unseen)
        report(f"left out: {out}", unseen, predicted)
        seen |= predicted
    report(f"all, left out by {by}", rows, seen)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pleat", default=ROOT / "build/cli/pleat")
    parser.add_argument("--folds", choices=("model", "hidden"))
    parser.add_argument("--evaluations", type=int, default=25)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args()
    rows = read_rows()
    with tempfile.TemporaryDirectory() as folder:
        fit = Fit(options.pleat, folder)
        if options.folds:
            return leave_out(fit, rows, options.folds, options.evaluations)
        u = fit.solve(rows, options.evaluations)
        report("in sample", rows, fit.predict(u, rows))
        values = fit.values(u)
        for name, value in values.items():
            print(f"  {name:18} {value:g}")
        if not options.dry:
            path = ROOT / "configs/profiles" / PROFILE
            path.write_text(to_text(apply(fit.profile, values)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
