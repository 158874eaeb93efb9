# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""How far the shipped laws and tables are off, on measured points that no fit has seen.

    python3 calibration/tables/check_tables.py RAW CONFIGS [SAMPLE]

RAW and CONFIGS as of make_profiles.py. Reads what is shipped, not what a fit would give. With
SAMPLE, also writes an even sample of the points left out as a CSV file, for the tests."""
import csv
import json
import pathlib
import sys

import numpy as np

import collectives
import gemm
import make_profiles

UNITS = {"us": 1e-6, "TFLOP/s": 1e12, "TB/s": 1e12}
SAMPLED = 60  # points of one law


def quantity(text):
    value, unit = text.split()
    return float(value) * UNITS[unit]


def read_table(path):
    """(grid, offsets, fixed overhead, overhead per element)."""
    rows = [row for row in csv.reader(path.open()) if not row[0].startswith("#")]
    extra_fixed, extra_element = float(rows[0][1]), float(rows[0][2])
    assert [int(k) for k in rows[1][2:]] == gemm.N_NODES
    shape = next(i for i, row in enumerate(rows) if row[0] == "shape")
    grid = np.array([[int(v) for v in row[2:]] for row in rows[2:shape]]).ravel()
    columns = [int(n) for n in rows[shape][1:]]
    offsets = {(int(row[0]), n): int(v)
               for row in rows[shape + 1:] for n, v in zip(columns, row[1:])}
    return {"grid": grid, "offsets": offsets}, extra_fixed, extra_element


def shipped_law(profile, dtype, folder, sms):
    entry = profile["gemm"][dtype]
    table, extra_fixed, extra_element = read_table(folder / entry["table"])
    law = {"rate": quantity(entry["rate"]), "depth": entry["depth"],
           "fixed": quantity(entry["fixed"]), "bandwidth": quantity(entry["bandwidth"]),
           "tile_exponent": entry["tile_exponent"], "wave": entry["wave"],
           "extra_fixed": extra_fixed, "extra_per_element": extra_element,
           "element": gemm.OPERAND_BYTES[dtype], "sms": sms, "tiles": profile["gemm"]["tiles"]}
    return law, table


def sample(points):
    large = points[gemm.is_large(points)]
    return large[np.linspace(0, len(large) - 1, SAMPLED).astype(int)]


def check_gemm(name, platform, raw, folder, rows):
    profile = json.loads((folder / f"{name}-megatron.json").read_text(encoding="utf-8"))
    labels = make_profiles.HOPPER_GEMM if platform["arch"] == "hopper" else \
        make_profiles.BLACKWELL_GEMM
    for label, dtype in labels:
        law, table = shipped_law(profile, dtype, folder, platform["sms"])
        points = gemm.read_points(raw / platform["gemm"], label)
        points = points[gemm.left_out(points)]
        judged = gemm.judge(points, law, table)
        print(f"{name:14}{dtype:10}{len(points):6} points left out, median % of all shapes and of "
              "m >= 512, n, k >= 256: " +
              ", ".join(f"{kind} {e['all']:.2f} {e['large']:.2f}" for kind, e in judged.items()))
        for m, n, k, t in sample(points):
            rows.append(f"{name},{dtype},{m:.0f},{n:.0f},{k:.0f},{1e6 * t:.6g}")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    raw, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "profiles"
    rows = []
    for name, platform in make_profiles.PLATFORMS.items():
        if "gemm" in platform:
            check_gemm(name, platform, raw, folder, rows)
        if "nccl" in platform:
            errors = collectives.leave_one_out(collectives.read(raw / platform["nccl"]))
            print(f"{name:14}collectives of 1 MB and more, {len(errors)} points left out one at a "
                  f"time: median {100 * np.median(errors):.2f}%")
    if len(sys.argv) == 4:
        head = ["# Measured matrix products that no fit of the shipped laws and tables has seen.",
                f"# {make_profiles.AIC}; every file and label as in calibration/tables/"
                "make_profiles.py.", "cluster,math,m,n,k,us"]
        pathlib.Path(sys.argv[3]).write_text("\n".join(head + rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
