# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the Pleat runtime's profiles of Hopper GPUs from what tests/benchmarks/gpu_all.sh measured on an H200.

    python3 calibration/tables/fit_pleat_run.py PLEAT RUN CONFIGS [--attention RUN] [--fit mixtral|qwen3|bf16|fp8]

PLEAT: the program. RUN: docs/measured/h200-...: traces of training and lines of benchmarks; --attention names another
one where a run has no benchmarks of attention. CONFIGS: the configs folder.
What belongs to the GPU and its libraries (laws of dense products, collectives) comes from the GPU's Megatron
profile; DeepEP's rates do not, since Pleat sends its plans' rows by all-to-all. Rates of attention are those of the benchmarks. Fitted are, each by the time of its operations in all
traces, predicted over measured: the share of the memory's bandwidth that every class of kernels reaches, what grouped
products reach of dense ones' law, and the clocks under load. Prints the steps, measured and predicted; with --fit only some of
the runs are fitted to, nothing is kept, and the others are judged. The H100's and the H800's get the H200's constants."""
import argparse
import collections
import json
import lzma
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from make_profiles import to_text

MODELS = {"mixtral": 2, "qwen3": 4}  # sequences a microbatch (models.tsv)
PRECISIONS = ("bf16", "fp8")
MEASURED, LIKE_IT = "h200-sxm", ("h100-sxm", "h800-sxm")
ROUNDS = 4
BAND = {MEASURED: 0.15, "h100-sxm": 0.2, "h800-sxm": 0.2}  # several GPUs have not run, others not at all
# Names of operations in traces, by the class that prices them.
KERNELS = {"norm": r"(attn|mlp|final)_norm(\.bwd)?", "head_norm": r"qk_norm(\.bwd)?", "rope": r"rope(\.bwd)?",
           "activation": r"experts\.act(\.bwd)?", "memory_bound": r"(attn|moe)_residual", "loss": r"ce\.\w+",
           "router": r"topk|counts", "router_bwd": r"topk\.bwd", "permute": r"(un)?permute(\.bwd)?",
           "quantize": r".*quantize.*", "optimizer": r"\w+\.adamw", "sweep": r"grad_norm|dense\.zero_grad",
           "embedding": r"embedding(\.bwd)?"}
OTHERS = {"attention": r"attn(\.bwd)?", "dense": r"(qkv|attn_proj|head)(\.dgrad|\.wgrad)?",
          "grouped": r"experts\.fc[12](\.dgrad)?", "wgrad": r"experts\.fc[12]\.wgrad"}
FROM_THE_GPU = ("gemm", "attention", "collectives", "collective_table", "overlap_efficiency",
                "overlap_efficiency_nccl", "comm_slowdown", "comm_slowdown_of_compute", "sharing_penalty", "nccl_sms",
                "deepep_sms", "hybridep_sms")


def seconds_by_op(trace):
    times = collections.Counter()
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["tid"] == 0:
            times[event["name"]] += event["dur"] * 1e-6
    return times


def measured(run, model, precision):
    with lzma.open(run / f"train-{model}-{precision}.trace.json.xz", "rt") as file:
        return json.load(file)


def predicted(pleat, run, configs, model, precision):
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        subprocess.run([pleat, "predict", "--model", run / f"{model}.json", "--cluster", MEASURED, "--gpus", "1",
                        "--runtime", "pleat", "--seq-len", "4096", "--global-batch", "8", "--micro-batch",
                        str(MODELS[model]), "--precision", precision, "--force", "--trace", trace, "--json"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={"PLEAT_CONFIG_DIR": str(configs)})
        return json.loads(trace.read_text(encoding="utf-8"))


def attention_rates(run):
    """(layout, pass) -> {sequence length: TFLOP/s} of cuDNN's kernels, the backward pass with the same bits every time."""
    rates = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in (run / "benchmarks-attention.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith('{"kernel": "') or '"cuDNN"' not in line:
            continue
        x = json.loads(line)
        kind = {"attention": ("gqa", "forward"), "attention_bwd": ("gqa", "backward"),
                "mla_attention": ("mla", "forward"), "mla_attention_bwd": ("mla", "backward")}.get(x["kernel"])
        if kind:
            rates[kind][int(re.match(r"\d+x(\d+)", x["shape"])[1])].append(x["TFLOPS"])
    return {kind: {seq: statistics.mean(all_) for seq, all_ in sorted(of.items())} for kind, of in rates.items()}


def start(attention, megatron):
    """What is not fitted, and where the fit begins."""
    profile = {"schema_version": 1, "name": f"{MEASURED}-pleat", "cluster": MEASURED, "runtime": "pleat",
               "created": "2026-11-28", "provenance": ""}
    profile["kernels"] = megatron["kernels"]
    profile |= {key: megatron[key] for key in FROM_THE_GPU if key in megatron}
    for rates in profile["attention"]:
        found = attention.get((rates["layout"], rates["pass"]))
        if rates["math"] == "bf16" and found:
            rates["rates"] = [[seq, f"{rate:.4g} TFLOP/s"] for seq, rate in found.items()]
            rates["source"] = "measured"
    profile["gemm"]["grouped"] = {"forward_per_expert": "0 us", "backward_per_expert": "0 us",
                                  "wgrad_per_expert": "0 us", "wgrad_rate": 0.9, "row_multiple": 128, "rate": 0.9,
                                  "narrow_rate": 0.7}
    profile["host_per_op"] = "1 us"
    profile["step_overhead"] = "1.3 ms"  # idle time of the traces
    profile["sustained_clock"] = {"gemm_bf16": 0.95, "gemm_fp8": 0.947, "attention": 0.85}
    profile["relative_band"] = BAND[MEASURED]
    return profile


def improve(profile, ratios):
    """ratios: (class, precision) -> seconds predicted and measured."""
    def ratio(name, precisions=PRECISIONS):
        there = [ratios[name, p] for p in precisions if (name, p) in ratios]
        return sum(x[0] for x in there) / sum(x[1] for x in there) if there else 1

    for name in KERNELS:
        curve = profile["kernels"].setdefault(name, dict(profile["kernels"]["memory_bound"]))
        curve["memory_efficiency"] = round(min(1, curve["memory_efficiency"] * ratio(name)), 3)
        curve["source"] = "fitted"
    clock, grouped = profile["sustained_clock"], profile["gemm"]["grouped"]
    clock["attention"] = round(min(1, clock["attention"] * ratio("attention")), 4)
    clock["gemm_bf16"] = round(min(1, clock["gemm_bf16"] * ratio("dense", ["bf16"])), 4)
    grouped["rate"] = round(grouped["rate"] * ratio("grouped", ["bf16"]), 4)
    grouped["wgrad_rate"] = round(grouped["wgrad_rate"] * ratio("wgrad", ["bf16"]) / ratio("grouped", ["bf16"]), 4)
    grouped["narrow_rate"] = round(grouped["narrow_rate"] * ratio("grouped", ["fp8"]), 4)


def compare(o, runs, fitted):
    """The steps of all runs, and seconds by class of those that are fitted to."""
    lines, sums = [], collections.defaultdict(lambda: [0.0, 0.0])
    for model, precision in runs:
        real, guess = measured(o.run, model, precision), predicted(o.pleat, o.run, o.configs, model, precision)
        a, b = real["pleat"]["step_s"], guess["pleat"]["step_s"]
        lines.append(f"{model} {precision}: measured {a * 1e3:.1f} ms, predicted {b * 1e3:.1f} ms, {100 * (b / a - 1):+.1f}%")
        if (model, precision) not in fitted:
            continue
        real, guess = seconds_by_op(real), seconds_by_op(guess)
        for op in real.keys() & guess.keys():
            name = next((n for n, names in (KERNELS | OTHERS).items() if re.fullmatch(names, op)), None)
            sums[name, precision][0] += guess[op]
            sums[name, precision][1] += real[op]
    return lines, sums


def of_other_gpu(profile, name, profiles):
    megatron = json.loads((profiles / f"{name}-megatron.json").read_text(encoding="utf-8"))
    other = json.loads(json.dumps(profile)) | {"name": f"{name}-pleat", "cluster": name, "relative_band": BAND[name]}
    other |= {key: megatron[key] for key in FROM_THE_GPU if key in megatron and key not in ("gemm", "attention")}
    other["gemm"] = megatron["gemm"] | {"grouped": profile["gemm"]["grouped"]}
    for curve in other["kernels"].values():
        curve["source"] = "datasheet" if curve["source"] == "datasheet" else "interpolated"
    for rates in other["attention"]:
        rates["source"] = "interpolated"
    other["provenance"] = f"Not measured: {MEASURED}-pleat's constants. " + other["provenance"]
    return other


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("pleat", type=pathlib.Path)
    p.add_argument("run", type=pathlib.Path)
    p.add_argument("configs", type=pathlib.Path)
    p.add_argument("--attention", type=pathlib.Path)
    p.add_argument("--fit", default="", help="a model or a precision")
    o = p.parse_args()
    o.pleat, o.run, o.configs = o.pleat.resolve(), o.run.resolve(), o.configs.resolve()
    runs = [(m, precision) for m in MODELS for precision in PRECISIONS]
    fitted = [r for r in runs if not o.fit or o.fit in r]
    if not fitted:
        sys.exit(f"no run of {o.fit}")
    profiles = o.configs / "profiles"
    path = profiles / f"{MEASURED}-pleat.json"
    before = path.read_text(encoding="utf-8") if path.exists() else None
    attention = attention_rates((o.attention or o.run).resolve())
    profile = start(attention, json.loads((profiles / f"{MEASURED}-megatron.json").read_text(encoding="utf-8")))
    profile["provenance"] = (
        f"Kernels, grouped products and clocks: fitted to traces of Pleat's training on one H200 ({o.run.name}), rates of "
        "attention to its benchmarks. Laws of dense products and collectives: the GPU's Megatron profile's. "
        "Several GPUs have not run. Written by calibration/tables/fit_pleat_run.py.")
    try:
        for _ in range(ROUNDS):
            path.write_text(to_text(profile) + "\n", encoding="utf-8")
            lines, ratios = compare(o, runs, fitted)
            improve(profile, ratios)
        path.write_text(to_text(profile) + "\n", encoding="utf-8")
        lines, _ = compare(o, runs, fitted)
    finally:
        if o.fit and before is not None:
            path.write_text(before, encoding="utf-8")
        elif o.fit:
            path.unlink()
    print("\n".join(lines))
    if not o.fit:
        for name in LIKE_IT:
            text = to_text(of_other_gpu(profile, name, profiles)) + "\n"
            (profiles / f"{name}-pleat.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
