# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""How near to the best plan jobs run in practice (kTunings of planner/capacity/tuning.hpp).

    python3 calibration/tables/tuning.py [--recipes RECIPES.json]

typical: the measured step of published recipes over the predicted step of the best plan for the same model,
GPUs, batch and number formats. The recipes and their best plans are those of the table "Recipes against the
search" of docs/VALIDATION.md, or of `pleat validate --recipes --json`; the measured steps are in
configs/validation. These recipes were tuned by people of the vendor: others may be further away.

untuned: the same, times what a layout that nobody compared with others costs: measured steps of all layouts
that vTrain ran of one model on several nodes, over the fastest of them.

Both are distributions; the median and the 90% quantile are printed, the product's spread as of independent
log-normal ones.
"""
import argparse
import collections
import json
import math
import pathlib
import re
import statistics

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| ([\w.-]+) \| ([\d.]+) \| ([\d.]+) \| ")
LEAST_LAYOUTS = 20  # of one model on the same GPUs


def measured_steps():
    """Published rows by id."""
    rows = {}
    for path in sorted((ROOT / "configs/validation").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            rows[row["id"]] = row
    return rows


def best_steps(recipes):
    """Predicted seconds of the recipe and of the best plan, by id of the published row."""
    if recipes:
        listed = json.loads(pathlib.Path(recipes).read_text(encoding="utf-8"))["recipes"]
        return {r["id"]: (r["recipe_s"], r["best_s"]) for r in listed if "best_s" in r}
    text = (ROOT / "docs/VALIDATION.md").read_text(encoding="utf-8")
    table = text[text.index("## Recipes against the search"):]
    found = (ROW.match(line) for line in table.splitlines())
    return {m.group(1): (float(m.group(2)), float(m.group(3))) for m in found if m}


def quantile(values, share):
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def told(name, values):
    median, p90 = statistics.median(values), quantile(values, 0.9)
    print(f"{name}: {len(values)} values, {min(values):.3f} to {max(values):.3f}, P10 {quantile(values, 0.1):.3f}, "
          f"median {median:.3f}, P90 {p90:.3f}")
    return median, p90


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipes", help="what `pleat validate --recipes --json` printed")
    rows = measured_steps()
    practice, predicted = [], []
    for name, (recipe, best) in best_steps(parser.parse_args().recipes).items():
        predicted.append(recipe / best)
        step = rows[name]["measured"].get("step_time_s") if name in rows else None
        if step:
            practice.append(step / best)
    told("recipe as predicted over best plan", predicted)
    typical = told("recipe as measured over best plan", practice)
    groups = collections.defaultdict(list)
    for row in rows.values():
        if row["tier"] == "V-multi" and row.get("group"):
            groups[row["group"]].append(row["measured"]["step_time_s"])
    layouts = [step / min(steps) for steps in groups.values() if len(steps) >= LEAST_LAYOUTS for step in steps]
    layout = told("layout over fastest layout", layouts)
    median = typical[0] * layout[0]
    spread = math.exp(math.hypot(math.log(typical[1] / typical[0]), math.log(layout[1] / layout[0])))
    print(f'typical {typical[0]:.2f}, {typical[1]:.2f}; untuned {median:.2f}, {median * spread:.2f}')


if __name__ == "__main__":
    main()
