# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Fits the constants of a run that no kernel table shows (clocks under load, host time a layer,
overlap, rates of memory-bound kernels in a framework) to published runs, and writes them into the
profiles. Few constants, shared as widely as the physics allows: clocks by GPU, host time by kind of
host processor, everything else by GPU family or by all. No constant belongs to a row or a model.

    python3 calibration/tables/fit_run_constants.py --pleat build/cli/pleat
    python3 calibration/tables/fit_run_constants.py --pleat build/cli/pleat --folds 5   # leave groups out
    python3 calibration/tables/fit_run_constants.py --pleat build/cli/pleat --early     # before nemo-25.09

Needs numpy and scipy. A group is (model, cluster, precision); rows of one group differ in release and
layout only. --folds fits nothing for good: it reports the errors of groups the fit has not seen.
"""
import argparse
import collections
import json
import math
import pathlib
import random
import statistics
import subprocess
import tempfile

import numpy
from scipy.optimize import least_squares

from make_profiles import to_text
from run_parameters import LATE, PLATFORMS, apply, is_late, parameters

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Twice as slow as the same plan in the release after, which nothing in the row explains.
UNEXPLAINED = {"bridge-25.11-b200-qwen3-30b-a3b-fp8-mx-8g-gbs512",
               "bridge-26.02-b200-qwen3-30b-a3b-fp8-mx-8g-gbs512"}


def group_of(row):
    return str(row["model"]), row["cluster"], row["plan"]["precision"]


class Fit:
    def __init__(self, pleat, rows, names, folder):
        self.pleat, self.rows, self.names, self.folder = pleat, rows, names, pathlib.Path(folder)
        self.profiles = {p: json.loads((ROOT / "configs/profiles" / f"{p}-megatron.json").read_text())
                         for p in PLATFORMS}
        (self.folder / "tables").symlink_to(ROOT / "configs/profiles/tables")
        self.start, self.low, self.high = (numpy.array([names[n][i] for n in names]) for i in range(3))

    def predict(self, x, rows):
        values = dict(zip(self.names, numpy.clip(x, self.low, self.high)))
        for name, profile in self.profiles.items():
            text = json.dumps(apply(json.loads(json.dumps(profile)), name, values))
            (self.folder / f"{name}-megatron.json").write_text(text)
        file = self.folder / "rows.jsonl"
        file.write_text("".join(json.dumps(r) + "\n" for r in rows))
        run = subprocess.run([self.pleat, "validate", "--rows", file, "--profile-dir", self.folder,
                              "--json"], capture_output=True, text=True, check=True)
        return {r["id"]: r for r in json.loads(run.stdout)["rows"] if r["predicted_step_s"]}

    def residuals(self, x, rows):
        count = collections.Counter(group_of(r) for r in rows)
        predicted = self.predict(x, rows)
        result = []
        for row in rows:
            if row["id"] in UNEXPLAINED or row["id"] not in predicted:
                continue
            weight = (1.0 if row["tier"] == "A" else 0.5) * 1.5 / math.sqrt(count[group_of(row)])
            p = predicted[row["id"]]
            result.append(weight * math.log(p["predicted_step_s"] / p["measured_step_s"]))
        v = dict(zip(self.names, x))
        for host in ("x86", "grace"):  # capturing the router lies between nothing and attention too
            if f"moe.{host}.router" in v:
                result.append(0.4 * (v[f"moe.{host}.router"] -
                                     (v[f"moe.{host}.none"] + v[f"moe.{host}.partial"]) / 2))
        for kind in ("bf16", "fp8"):  # GPUs of one family clock alike unless the runs say otherwise
            alike = [v[f"{kind}.{n}"] for n, (family, _) in PLATFORMS.items()
                     if family == "blackwell" and f"{kind}.{n}" in v]
            result += [0.6 * (clock - statistics.fmean(alike)) for clock in alike]
        for mode in ("none", "router", "partial"):  # host processors too
            if f"moe.x86.{mode}" in v and f"moe.grace.{mode}" in v:
                result.append(0.1 * (v[f"moe.x86.{mode}"] - v[f"moe.grace.{mode}"]))
        result += [0.05 * (a - b) / max(0.05, abs(b)) for a, b in zip(x, self.start)]
        return numpy.array(result)

    def solve(self, rows, evaluations):
        # Relative steps of 2%, and a loss that forgives single rows.
        return least_squares(self.residuals, self.start, args=(rows,), loss="soft_l1", f_scale=0.05,
                             bounds=(self.low - 1e-9, self.high + 1e-9), diff_step=0.02,
                             max_nfev=evaluations).x


def report(title, errors):
    e = sorted(abs(x) for x in errors)
    print(f"{title}: {len(e)} rows, median {100 * statistics.median(e):.2f}%, "
          f"P80 {100 * e[int(.8 * len(e))]:.2f}%, P90 {100 * e[int(.9 * len(e))]:.2f}%", flush=True)


def leave_groups_out(fit, rows, folds, evaluations):
    groups = sorted({group_of(r) for r in rows}, key=str)
    random.Random(7).shuffle(groups)
    errors = {}
    for k in range(folds):
        out = set(groups[k::folds])
        x = fit.solve([r for r in rows if group_of(r) not in out], evaluations)
        unseen = [r for r in rows if group_of(r) in out]
        predicted = fit.predict(x, unseen)
        errors |= {r["id"]: (r["tier"], predicted[r["id"]]["error"]) for r in unseen
                   if r["id"] in predicted}
        report(f"fold {k + 1}", [errors[r["id"]][1] for r in unseen if r["id"] in errors])
    report("left out, tier A", [e for tier, e in errors.values() if tier == "A"])
    report("left out, all", [e for _, e in errors.values()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pleat", default=ROOT / "build/cli/pleat")
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--evaluations", type=int, default=14)
    parser.add_argument("--early", action="store_true", help=f"eras before {LATE}")
    options = parser.parse_args()
    with open(ROOT / "configs/validation/runs.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rows = [r for r in rows if r["tier"] in ("A", "B") and r["runtime"] == "megatron" and
            r["cluster"] in PLATFORMS and is_late(r["era"]) != options.early]
    names = parameters(options.early)
    with tempfile.TemporaryDirectory() as folder:
        fit = Fit(options.pleat, rows, names, folder)
        if options.folds:
            return leave_groups_out(fit, rows, options.folds, options.evaluations)
        x = numpy.clip(fit.solve(rows, options.evaluations), fit.low, fit.high)
        x = [float(f"{v:.3g}") if v > 1e-3 else 0.0 for v in x]
        report("in sample", [r["error"] for r in fit.predict(x, rows).values()])
        for name, value in zip(names, x):
            print(f"  {name:24} {value:g}")
        for name, profile in fit.profiles.items():
            path = ROOT / "configs/profiles" / f"{name}-megatron.json"
            path.write_text(to_text(apply(profile, name, dict(zip(names, x)))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
