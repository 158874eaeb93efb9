# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""What the slowest of many hosts takes longer (slowest_host of the profiles): measured on families of
published runs that differ in nothing but the number of GPUs and the global batch that grows with it,
so that every other error of the model is the same in all of them.

    python3 calibration/tables/slowest_host.py --pleat build/cli/pleat

Prints, per family, the slope of log(measured / predicted) over ln(hosts), predicted without the
constant, and the median of all. run_parameters.py has it; fit_run_constants.py writes it.
"""
import argparse
import collections
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

from fit_run_constants import ROOT
from run_parameters import PLATFORMS

SIZES = 3       # of a family, at least
SAME = 0.15     # steps of one family differ by less: the work of a GPU is the same
SAME_PLAN = ("tp", "pp", "cp", "vpp", "ep", "micro_batch", "precision", "sharding", "dispatcher")


def families(rows, predicted):
    """Lists of (GPUs, log of measured over predicted)."""
    found = collections.defaultdict(list)
    for row in rows:
        result = predicted.get(row["id"])
        if not result or not result["predicted_step_s"]:
            continue
        plan = tuple(json.dumps(row["plan"].get(name)) for name in SAME_PLAN)
        batch = round(row["workload"]["global_batch"] / row["gpus"], 6)
        key = (json.dumps(row["model"]), row["cluster"], row["era"], row["workload"]["seq_len"],
               batch, plan)
        found[key].append((row["gpus"], result["measured_step_s"], result["predicted_step_s"]))
    for key, runs in sorted(found.items(), key=str):
        steps = [measured for _, measured, _ in runs]
        if len({gpus for gpus, _, _ in runs}) >= SIZES and max(steps) < (1 + SAME) * min(steps):
            yield key, [(gpus, math.log(m / p)) for gpus, m, p in sorted(runs)]


def slope(runs, gpus_per_host):
    x = [math.log(max(1, gpus / gpus_per_host)) for gpus, _ in runs]
    y = [error for _, error in runs]
    mean_x, mean_y = statistics.mean(x), statistics.mean(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / spread


def predict_without(pleat):
    with tempfile.TemporaryDirectory() as folder:
        profiles = ROOT / "configs/profiles"
        (pathlib.Path(folder) / "tables").symlink_to(profiles / "tables")
        for path in profiles.glob("*.json"):
            profile = json.loads(path.read_text(encoding="utf-8"))
            (pathlib.Path(folder) / path.name).write_text(json.dumps(profile | {"slowest_host": 0}))
        run = subprocess.run([pleat, "validate", "--profile-dir", folder, "--json"],
                             capture_output=True, text=True, check=True)
    return {row["id"]: row for row in json.loads(run.stdout)["rows"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pleat", default=ROOT / "build/cli/pleat")
    predicted = predict_without(parser.parse_args().pleat)
    rows = [json.loads(line) for name in ("runs", "mlperf")
            for line in open(ROOT / f"configs/validation/{name}.jsonl", encoding="utf-8")]
    rows = [r for r in rows if r["tier"] in ("A", "B") and r["cluster"] in PLATFORMS]
    slopes = []
    for key, runs in families(rows, predicted):
        cluster = json.loads((ROOT / f"configs/clusters/{key[1]}.json").read_text(encoding="utf-8"))
        slopes.append(slope(runs, cluster["gpus_per_node"]["value"]))
        sizes = " ".join(f"{gpus}:{100 * error:+.1f}%" for gpus, error in runs)
        print(f"{slopes[-1]:+.4f}  {key[0]} {key[1]} {json.loads(key[5][6])} {key[2]}  {sizes}")
    quarters = statistics.quantiles(slopes, n=4)
    print(f"{len(slopes)} families, {sum(s > 0 for s in slopes)} grow: median "
          f"{statistics.median(slopes):+.4f}, middle half {quarters[0]:+.4f} to {quarters[2]:+.4f}")


if __name__ == "__main__":
    main()
